package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/patchbay-dev/patchbay/internal/limits"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
)

// jails returns the processes of this test that are pid 1 of a jail.
func jails() []int {
	return slices.DeleteFunc(offspring(os.Getpid()), func(pid int) bool {
		cmdline, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline") // it may have ended
		name, _, _ := strings.Cut(string(cmdline), "\x00")
		return name != jail.Inner
	})
}

// A repeated is a program that is called again and again.
type repeated struct {
	t     *testing.T
	g     *proc.Group
	spec  proc.Spec
	plans atomic.Int64 // the number of plans that were made for calls
}

// begin calls the program until a jail is built ahead for it.
func (r *repeated) begin(t *testing.T) {
	t.Helper()
	needNamespaces(t)
	r.t, r.g = t, newGroup(t)
	r.call()
	r.call()
	r.awaitSpare()
}

func (r *repeated) call() string {
	r.t.Helper()
	result, err := r.g.Run(r.t.Context(), r.spec, proc.Call{})
	if err != nil || result.Exit.Code != 0 {
		r.t.Fatalf("%v; %+v", err, result)
	}
	return strings.TrimSpace(string(result.Stdout))
}

// awaitSpare waits until a jail is ready, and returns the pid of its first process.
func (r *repeated) awaitSpare() int {
	r.t.Helper()
	eventually.True(r.t, "a jail is built ahead", func() bool { return len(jails()) == 1 && r.g.Spares() == 1 })
	return jails()[0]
}

// served calls the program and reports whether the spare was used. If a spare is discarded, one
// more plan is made.
func (r *repeated) served() (said string, used bool) {
	r.t.Helper()
	r.awaitSpare()
	before := r.plans.Load()
	said = r.call()
	return said, r.plans.Load() == before+1
}

// mustServe calls the program, which must print want, until a spare was used. Mounts elsewhere on
// the machine can make a spare useless.
func (r *repeated) mustServe(want string) {
	r.t.Helper()
	eventually.True(r.t, "a jail that was built ahead is used", func() bool {
		said, used := r.served()
		if said != want {
			r.t.Fatalf("it said %q, want %q", said, want)
		}
		return used
	})
}

// called returns a script that is called again and again.
func called(t *testing.T, o Options, script string) *repeated {
	t.Helper()
	r := new(repeated)
	o.AnyProgram = true
	o.OnPlan = func([]Tree) { r.plans.Add(1) }
	r.spec = sh(o, script)
	r.begin(t)
	return r
}

func TestJailsBuiltAhead(t *testing.T) {
	t.Run("a jail built ahead serves the next call", func(t *testing.T) {
		r := called(t, Options{}, "echo said")
		for range 3 {
			r.mustServe("said")
		}
	})
	t.Run("with a network", func(t *testing.T) {
		r := called(t, Options{Grants: grants(t, "net:example.test:443")}, "echo said")
		r.mustServe("said")
	})
	t.Run("arguments and environment are those of the call", func(t *testing.T) {
		r := called(t, Options{}, "echo $WORD")
		r.spec.Args = []string{"-c", `echo "$WORD" "$0"`, "zero"}
		r.spec.Env = append(slices.Clone(r.spec.Env), "WORD=now")
		r.mustServe("now zero")
	})
	t.Run("a jail built ahead is not used for other limits", func(t *testing.T) {
		r := called(t, Options{}, "ulimit -n")
		r.spec.Limits = limits.Limits{Files: 77}
		if said := r.call(); said != "77" {
			t.Errorf("it said %q", said)
		}
	})
	t.Run("a jail built ahead ends with the group", func(t *testing.T) {
		r := called(t, Options{}, "true")
		if err := r.g.Close(); err != nil {
			t.Error(err)
		}
		if left := jails(); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
	t.Run("a jail that was killed is not used", func(t *testing.T) {
		r := called(t, Options{}, "echo said")
		spare := r.awaitSpare()
		if err := unix.Kill(spare, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually.True(t, "it is dead", func() bool { return !alive(spare) }) // until then it could still get the call, and fail it
		if said := r.call(); !strings.HasSuffix(said, "said") {
			t.Errorf("it said %q", said)
		}
	})
	t.Run("a program that cannot be started is explained", func(t *testing.T) {
		s := newScene(t)
		write(t, s.dir+"/plugin/run", "#!/bin/sh\n", 0o755)
		r := &repeated{spec: proc.Spec{Path: s.dir + "/plugin/run", Dir: "/", Env: []string{testPath}, Box: New(Options{Own: []string{s.dir + "/plugin"}, AnyProgram: true})}}
		r.begin(t)
		if err := os.Chmod(s.dir+"/plugin/run", 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := r.g.Run(t.Context(), r.spec, proc.Call{})
		if err == nil || !strings.Contains(err.Error(), "is not executable") {
			t.Errorf("%v", err)
		}
	})
}

// TestJailsOutOfDate: a jail that was built ahead is not used if the call would build another one.
func TestJailsOutOfDate(t *testing.T) {
	replace := func(t *testing.T, path, content string) {
		t.Helper()
		write(t, path+".new", content, 0o755)
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		rule   string
		change func(t *testing.T, dir string)
		want   string
	}{
		{"a granted file was replaced", func(t *testing.T, dir string) { replace(t, dir+"/file", "new") }, "new in"},
		{"a missing file was created", func(t *testing.T, dir string) { write(t, dir+"/later", "", 0o644) }, "old in later"},
		{"a directory was replaced", func(t *testing.T, dir string) {
			if err := os.Rename(dir+"/dir", dir+"/away"); err != nil {
				t.Fatal(err)
			}
			write(t, dir+"/dir/new", "", 0o644)
		}, "old new"},
		{"a directory was removed", func(t *testing.T, dir string) {
			if err := os.Rename(dir+"/dir", dir+"/away"); err != nil {
				t.Fatal(err)
			}
		}, "old"},
		{"a link leads elsewhere", func(t *testing.T, dir string) {
			if err := os.Remove(dir + "/link"); err != nil {
				t.Fatal(err)
			}
			link(t, "file", dir+"/link")
		}, "old in linked"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			dir := newScene(t).dir
			write(t, dir+"/file", "old", 0o644)
			write(t, dir+"/dir/in", "", 0o644)
			write(t, dir+"/other", "", 0o644)
			link(t, "other", dir+"/link")
			var list []string
			for _, name := range []string{"file", "dir", "later", "link"} {
				list = append(list, "read:fs:"+filepath.Join(dir, name))
			}
			r := called(t, Options{Grants: grants(t, list...)}, `cd `+dir+`; echo $(cat file; echo; ls dir/ 2>/dev/null; test -e later && echo later; test -s link && echo linked)`)
			r.mustServe("old in")
			r.awaitSpare()
			c.change(t, dir)
			if said, used := r.served(); used || said != c.want {
				t.Errorf("it said %q, want %q; built ahead: %v", said, c.want, used)
			}
		})
	}
	t.Run("something was mounted", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("only root can mount")
		}
		dir := newScene(t).dir
		write(t, dir+"/dir/below/old", "", 0o644)
		r := called(t, Options{Grants: grants(t, "read:fs:"+dir+"/dir")}, "ls "+dir+"/dir/below")
		if err := unix.Mount("tmpfs", dir+"/dir/below", "tmpfs", 0, ""); err != nil {
			t.Skipf("root may not mount here: %v", err)
		}
		defer func() {
			if err := unix.Unmount(dir+"/dir/below", unix.MNT_DETACH); err != nil {
				t.Error(err)
			}
		}()
		if said, used := r.served(); used || said != "" {
			t.Errorf("it said %q; built ahead: %v", said, used)
		}
	})
}
