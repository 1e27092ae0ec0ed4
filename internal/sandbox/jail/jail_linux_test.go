package jail

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/patchbay-dev/patchbay/internal/plugtest/machine"
)

// shell returns a plan that starts a shell with the given mounts, and those that every shell needs.
func shell(script string, mounts ...Mount) *Plan {
	p := &Plan{Path: "/bin/sh", Argv: []string{"sh", "-c", script}, Dir: "/", Landlock: mayExecute("/")}
	for _, dir := range []string{"/usr", "/lib", "/lib64", "/bin"} {
		target, err := os.Readlink(dir)
		switch _, missing := os.Stat(dir); {
		case missing != nil:
		case err == nil:
			p.Mounts = append(p.Mounts, Mount{Kind: Link, Source: target, Target: dir})
		default:
			p.Mounts = append(p.Mounts, Mount{Kind: Bind, Source: dir, Target: dir, Exec: true})
		}
	}
	p.Mounts = append(p.Mounts, mounts...)
	return p
}

// mayExecute returns Landlock rules by which only files below the given paths can be executed.
func mayExecute(paths ...string) Landlock {
	l := Landlock{Handled: unix.LANDLOCK_ACCESS_FS_EXECUTE}
	for _, path := range paths {
		l.Rules = append(l.Rules, Rule{path, unix.LANDLOCK_ACCESS_FS_EXECUTE})
	}
	return l
}

// build builds a jail, and returns its last report and how it ended.
func build(t *testing.T, p *Plan) (Report, syscall.WaitStatus) {
	t.Helper()
	return buildFrom(t, p.Encode())
}

func buildFrom(t *testing.T, text []byte) (Report, syscall.WaitStatus) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plan")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	plan, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	theirs := os.NewFile(uintptr(pair[1]), "control")
	outer, err := os.StartProcess("/proc/self/exe", []string{Outer}, &os.ProcAttr{Dir: "/", Env: Environ(Outer, 0), Files: []*os.File{nil, nil, nil, theirs, plan}})
	theirs.Close()
	if err != nil {
		t.Fatal(err)
	}
	last := lastReport(t, pair[0])
	state, err := outer.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return last, state.Sys().(syscall.WaitStatus)
}

// lastReport reads reports until the last one, or until the jail has ended.
func lastReport(t *testing.T, control int) Report {
	t.Helper()
	for {
		text := make([]byte, 64<<10)
		n, err := unix.Read(control, text)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return Report{}
		}
		r, ok := DecodeReport(text[:n])
		if !ok {
			t.Fatalf("no report: %q", text[:n])
		}
		if r.Sockets == "" {
			return r
		}
	}
}

// needNamespaces skips a test if no jail can be built.
func needNamespaces(t *testing.T) {
	t.Helper()
	if r, _ := build(t, &Plan{Probe: true, Path: "/", Dir: "/"}); !r.Runs {
		machine.Lacks(t, machine.Namespaces, errors.New(string(r.Stage)+": "+r.Error))
	}
}

func TestStages(t *testing.T) {
	needNamespaces(t)
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rule  string
		plan  *Plan
		stage string
		errno syscall.Errno
	}{
		{"a missing source", shell("", Mount{Kind: Bind, Source: dir + "/none", Target: "/a"}), "open " + dir + "/none", syscall.ENOENT},
		{"a target beneath a file", shell("", Mount{Kind: Bind, Source: dir + "/file", Target: "/f"}, Mount{Kind: Dir, Target: "/f/g"}), "mount /f/g", syscall.ENOTDIR},
		{"a target beneath a link", shell("", Mount{Kind: Link, Source: "/usr", Target: "/l"}, Mount{Kind: Temp, Target: "/l/g", Size: 1 << 20}), "mount /l/g", syscall.ENOTDIR},
		{"a target in a read-only mount", shell("", Mount{Kind: Bind, Source: dir, Target: "/a"}, Mount{Kind: Dir, Target: "/a/new"}), "mount /a/new", syscall.EROFS},
		{"an unknown kind", shell("", Mount{Kind: "other", Target: "/a"}), "mount /a", 0},
		{"a missing program", &Plan{Path: "/none", Dir: "/"}, StageExec, syscall.ENOENT},
		{"a program that may not be executed", func() *Plan { p := shell("true"); p.Landlock = mayExecute(); return p }(), StageExec, syscall.EACCES},
		{"a missing directory", func() *Plan { p := shell("true"); p.Dir = "/none"; return p }(), StageExec, syscall.ENOENT},
		{"a limit that cannot be set", func() *Plan {
			p := shell("true")
			p.Limits = []Limit{{Resource: unix.RLIMIT_NOFILE, Cur: 2, Max: 1}}
			return p
		}(), "set limit 7 to 2", syscall.EINVAL},
		{"without namespaces: a missing directory", &Plan{Simple: true, Path: "/bin/sh", Argv: []string{"sh"}, Dir: "/none"}, "enter /none", syscall.ENOENT},
	} {
		t.Run(c.rule, func(t *testing.T) {
			r, status := build(t, c.plan)
			if r.Runs || r.Stage != c.stage || r.Errno != int(c.errno) || r.Error == "" {
				t.Errorf("%+v, want stage %q and %d", r, c.stage, c.errno)
			}
			if !status.Signaled() && status.ExitStatus() == 0 {
				t.Error("it ended without an error")
			}
		})
	}
	t.Run("a plan that cannot be read", func(t *testing.T) {
		if r, _ := buildFrom(t, []byte("{")); r.Runs || r.Stage != "read the plan" || r.Error == "" {
			t.Errorf("%+v", r)
		}
	})
	t.Run("an optional source may be missing", func(t *testing.T) {
		r, status := build(t, shell("exit 3", Mount{Kind: Bind, Source: dir + "/none", Target: "/a", Missing: true}))
		if !r.Runs || status.ExitStatus() != 3 {
			t.Errorf("%+v, %v", r, status)
		}
	})
}

func TestMounts(t *testing.T) {
	needNamespaces(t)
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/file", []byte("outside\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rule, script string
		mounts       []Mount
	}{
		{"the root cannot be changed", "! mkdir /new 2>/dev/null", nil},
		{"a bind cannot be changed", "! echo x >/a/file", []Mount{{Kind: Bind, Source: dir, Target: "/a"}}},
		{"a file can be bound", "read x </f && [ $x = outside ]", []Mount{{Kind: Bind, Source: dir + "/file", Target: "/deep/er", Lend: true}, {Kind: Link, Source: "deep/er", Target: "/f"}}},
		{"a later mount covers an earlier one", "read x </a/file && [ $x = inside ]", []Mount{{Kind: Bind, Source: dir, Target: "/a", Lend: true}, {Kind: File, Target: "/a/file", Content: "inside\n"}}},
		{"a file in a read-only mount is left out", "[ ! -e /a/other ]", []Mount{{Kind: Bind, Source: dir, Target: "/a", Lend: true}, {Kind: File, Target: "/a/other"}}},
		{"a link over an existing file is left out", "[ -f /a/file ]", []Mount{{Kind: Bind, Source: dir, Target: "/a", Lend: true}, {Kind: Link, Source: "/", Target: "/a/file"}}},
		{"memory is writable", "echo x >/m/x && read x </m/x", []Mount{{Kind: Temp, Target: "/m", Size: 1 << 20}}},
		{"an empty directory in memory", "echo x >/m/d/x", []Mount{{Kind: Temp, Target: "/m", Size: 1 << 20}, {Kind: Dir, Target: "/m/d"}}},
		{"/proc has only its own processes", "set -- /proc/[0-9]*; [ $# -le 2 ]", []Mount{{Kind: Proc, Target: "/proc"}}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if r, status := build(t, shell(c.script, c.mounts...)); !r.Runs || status != 0 {
				t.Errorf("%+v, exit %d", r, status.ExitStatus())
			}
		})
	}
}

// TestMark: without a mark the process is not changed, whatever its name. With a malformed mark it
// ends.
func TestMark(t *testing.T) {
	run := func(argv []string, env ...string) int {
		t.Helper()
		p, err := os.StartProcess("/proc/self/exe", argv, &os.ProcAttr{Env: append(env, untouched+"=1"), Files: []*os.File{nil, nil, nil}})
		if err != nil {
			t.Fatal(err)
		}
		state, err := p.Wait()
		if err != nil {
			t.Fatal(err)
		}
		return state.ExitCode()
	}
	for _, argv := range [][]string{{"patchbay"}, {Outer}, {Middle}, {Inner}, {Outer, Mark + "=" + Outer + ":" + Protocol + ":0"}} {
		if code := run(argv); code != exitUntouched {
			t.Errorf("%q: exit %d", argv, code)
		}
	}
	for _, mark := range []string{"", ":", "0", Outer, Outer + ":", Outer + ":x", Outer + ":-1", Outer + ":1025", Outer + ":99999999999999999999", "other:0", Outer + ":0:0"} {
		if code := run([]string{Outer}, Mark+"="+mark); code != ExitMisused {
			t.Errorf("%q: exit %d", mark, code)
		}
	}
	t.Run("without a plan nothing is built", func(t *testing.T) {
		for _, name := range []string{Outer, Middle, Inner} {
			if code := run([]string{name}, Environ(name, 0)...); code != 1 {
				t.Errorf("%s: exit %d", name, code)
			}
		}
	})
}

// With untouched in its environment, this test binary ends with its own exit code, if it gets that
// far.
const (
	untouched     = "PATCHBAY_TEST_UNTOUCHED"
	exitUntouched = 99
)

func TestMain(m *testing.M) {
	if os.Getenv(untouched) != "" {
		os.Exit(exitUntouched)
	}
	os.Exit(m.Run())
}
