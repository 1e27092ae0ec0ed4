package sandbox

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/patchbay-dev/patchbay/internal/proc"
)

// TestWithoutNamespaces: the sandbox of Landlock and seccomp alone.
func TestWithoutNamespaces(t *testing.T) {
	system := needSimple(t)
	simple := func(t *testing.T, s scene, o Options, script, want string) {
		t.Helper()
		o.System = system
		s.sees(o, script, want)
	}
	t.Run("granted files are visible, and nothing beside them", func(t *testing.T) {
		s := newScene(t)
		o := Options{Grants: grants(t, "read:fs:"+s.dir+"/granted", "write:fs:"+s.dir+"/writable"), Own: []string{s.dir + "/plugin"}}
		simple(t, s, o, "see $D/granted/note; see $D/secret/note; see $D/plugin/data; put $D/granted/note; put $D/writable/new; put $D/plugin/data; put $D/secret/note",
			"a note\n-\nits own\n-\nput\n-\n-")
	})
	t.Run("a grant beneath a link", func(t *testing.T) {
		s := newScene(t)
		write(t, s.dir+"/v1/data/note", "version 1", 0o644)
		link(t, "v1", s.dir+"/current")
		simple(t, s, Options{Grants: grants(t, "read:fs:"+s.dir+"/current/data")}, "see $D/current/data/note", "version 1")
	})
	t.Run("only granted programs can be executed", func(t *testing.T) {
		s := newScene(t)
		ls, id := tool(t, "ls"), tool(t, "id")
		try := ls + " --version >/dev/null 2>&1 && echo ls; " + id + " >/dev/null 2>&1 && echo id; echo done"
		simple(t, s, Options{Grants: grants(t, "exec:ls:"+ls)}, try, "ls\ndone")
		simple(t, s, Options{AnyProgram: true}, try, "ls\nid\ndone")
	})
	t.Run("its own directory, which is removed at the end", func(t *testing.T) {
		s := newScene(t)
		t.Setenv("TMPDIR", s.dir+"/writable")
		r := run(t, sh(Options{System: system}, `echo hi >$HOME/a && echo ho >$TMPDIR/b && echo $HOME $TMPDIR`))
		home, tmp, _ := strings.Cut(strings.TrimSpace(string(r.Stdout)), " ")
		if home != tmp || filepath.Dir(home) != s.dir+"/writable" {
			t.Fatalf("%q, %q; %s", home, tmp, r.Stderr)
		}
		if left, err := os.ReadDir(s.dir + "/writable"); err != nil || len(left) != 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	})
	t.Run("nothing is left after a failed start", func(t *testing.T) {
		s := newScene(t)
		t.Setenv("TMPDIR", s.dir+"/writable")
		startError(t, proc.Spec{Path: s.dir + "/none", Dir: "/", Box: New(Options{System: system})})
		if left, err := os.ReadDir(s.dir + "/writable"); err != nil || len(left) != 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	})
	t.Run("no network unless it is granted", func(t *testing.T) {
		python := tool(t, "python3")
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		script := "import socket\ntry:\n s=socket.create_connection(('127.0.0.1'," + strconv.Itoa(l.Addr().(*net.TCPAddr).Port) + "),5); print('connected')\nexcept OSError as e: print(e.errno)"
		for grant, want := range map[string]string{"net:[]": strconv.Itoa(int(unix.EAFNOSUPPORT)), "net:*": "connected"} {
			s := sh(Options{System: system, Grants: grants(t, grant)}, "")
			s.Path, s.Args = python, []string{"-c", script}
			expect(t, s, want)
		}
	})
	t.Run("exit codes and signals are the program's own", func(t *testing.T) {
		handleIgnored(t, deadly)
		o := Options{System: system}
		if got := run(t, sh(o, "exit 77")).Exit; got != (proc.Exit{Code: 77}) {
			t.Error(got)
		}
		for _, s := range deadly {
			if got := run(t, sh(o, "kill -"+strconv.Itoa(int(s))+" $$")).Exit; got.Signal != unix.SignalName(s) {
				t.Errorf("%s: %v", unix.SignalName(s), got)
			}
		}
	})
	t.Run("a program that cannot be executed is explained", func(t *testing.T) {
		s := newScene(t)
		explains(t, s, Options{System: system})
	})
	t.Run("descriptors, arguments, environment and directory", func(t *testing.T) {
		passes(t, Options{System: system})
	})
}
