package sandbox

import (
	"cmp"
	"os"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/proc"
)

// A scene is a directory with files, some of which are granted.
type scene struct {
	t   *testing.T
	dir string
}

func newScene(t *testing.T) scene {
	t.Helper()
	needNamespaces(t)
	dir := t.TempDir()
	write(t, dir+"/granted/note", "a note", 0o644)
	write(t, dir+"/secret/note", "a secret", 0o644)
	write(t, dir+"/plugin/data", "its own", 0o644)
	if err := os.Mkdir(dir+"/writable", 0o755); err != nil {
		t.Fatal(err)
	}
	return scene{t, dir}
}

// sees runs a script in which "see FILE" prints a file and "put FILE" tries to write it. D is the
// scene's directory.
func (s scene) sees(o Options, script, want string) {
	s.t.Helper()
	s.seesWith(o, proc.Spec{}, script, want)
}

// seesWith is sees with a working directory and an environment.
func (s scene) seesWith(o Options, with proc.Spec, script, want string) {
	s.t.Helper()
	spec := sh(o, `see() { line=; read line 2>/dev/null <$1; echo "${line:--}"; }
put() { if { echo hi >$1; } 2>/dev/null; then echo put; else echo -; fi; }
`+script)
	if with.Dir != "" {
		spec.Dir = with.Dir
	}
	if with.Env != nil {
		spec.Env = append([]string{testPath}, with.Env...)
	}
	spec.Env = append(spec.Env, "D="+s.dir)
	expect(s.t, spec, want)
}

func TestWhatIsSeen(t *testing.T) {
	t.Run("granted files are visible, and nothing beside them", func(t *testing.T) {
		s := newScene(t)
		o := Options{Grants: grants(t, "read:fs:"+s.dir+"/granted", "write:fs:"+s.dir+"/writable"), Own: []string{s.dir + "/plugin"}}
		s.sees(o, "see $D/granted/note; see $D/secret/note; see $D/plugin/data; put $D/granted/note; put $D/writable/new; put $D/plugin/data; see $D/writable/new",
			"a note\n-\nits own\n-\nput\n-\nhi")
	})
	t.Run("a grant that is one file", func(t *testing.T) {
		s := newScene(t)
		write(t, s.dir+"/granted/other", "other", 0o644)
		s.sees(Options{Grants: grants(t, "read:fs:"+s.dir+"/granted/note")}, "see $D/granted/note; see $D/granted/other", "a note\n-")
	})
	t.Run("a missing grant is not created", func(t *testing.T) {
		s := newScene(t)
		s.sees(Options{Grants: grants(t, "read:fs:"+s.dir+"/none")}, "see $D/none; echo done", "-\ndone")
		if _, err := os.Stat(s.dir + "/none"); err == nil {
			t.Error("it was created")
		}
	})
	t.Run("reading and writing one path is writing it, whichever comes first", func(t *testing.T) {
		for _, order := range [][]string{{"read", "write"}, {"write", "read"}} {
			s := newScene(t)
			o := Options{Grants: grants(t, order[0]+":fs:"+s.dir+"/writable", order[1]+":fs:"+s.dir+"/writable")}
			s.sees(o, "put $D/writable/new", "put")
		}
	})
	t.Run("writing within what may be read, and reading within what may be written", func(t *testing.T) {
		s := newScene(t)
		o := Options{Grants: grants(t, "read:fs:"+s.dir, "write:fs:"+s.dir+"/writable")}
		s.sees(o, "put $D/new; put $D/writable/new; see $D/secret/note", "-\nput\na secret")
		o = Options{Grants: grants(t, "write:fs:"+s.dir, "read:fs:"+s.dir+"/granted")}
		s.sees(o, "put $D/new; see $D/granted/note", "put\na note")
	})
	t.Run("a writable directory within its own files", func(t *testing.T) {
		s := newScene(t)
		write(t, s.dir+"/plugin/state/old", "state", 0o644)
		o := Options{Grants: grants(t, "write:fs:"+s.dir+"/plugin/state"), Own: []string{s.dir + "/plugin"}}
		s.sees(o, "put $D/plugin/data; put $D/plugin/state/new; see $D/plugin/state/old", "-\nput\nstate")
	})
	t.Run("a grant that is a link opens its target", func(t *testing.T) {
		s := newScene(t)
		link(t, "granted", s.dir+"/link")
		s.sees(Options{Grants: grants(t, "read:fs:"+s.dir+"/link")}, "see $D/link/note", "a note")
	})
	t.Run("a grant beneath a link", func(t *testing.T) {
		s := newScene(t)
		write(t, s.dir+"/v1/data/note", "version 1", 0o644)
		link(t, "v1", s.dir+"/current")
		s.sees(Options{Grants: grants(t, "read:fs:"+s.dir+"/current/data")}, "see $D/current/data/note", "version 1")
		// Here the link itself is visible.
		s.sees(Options{Grants: grants(t, "read:fs:"+s.dir, "write:fs:"+s.dir+"/current/data")}, "put $D/current/data/new; see $D/v1/data/note", "put\nversion 1")
	})
	t.Run("a grant beneath a link of the system", func(t *testing.T) {
		s := newScene(t)
		if target, err := os.Readlink("/bin"); err != nil || target == "" {
			t.Skip("/bin is not a link here")
		}
		o := Options{Grants: grants(t, "read:fs:/bin/ls"), AnyProgram: true}
		s.sees(o, "test -r /bin/ls && echo there", "there")
		o.AnyProgram = false
		s.sees(o, "test -r /bin/ls && echo there", "there")
	})
	t.Run("its own files by a link", func(t *testing.T) {
		s := newScene(t)
		link(t, "plugin", s.dir+"/by-link")
		s.sees(Options{Own: []string{s.dir + "/by-link"}}, "see $D/by-link/data; see $D/plugin/data", "its own\nits own")
	})
	t.Run("its own files by a chain of links", func(t *testing.T) {
		s := newScene(t)
		link(t, s.dir+"/two/plugin", s.dir+"/one")
		link(t, s.dir, s.dir+"/two")
		s.sees(Options{Own: []string{s.dir + "/one"}}, "see $D/one/data", "its own")
	})
}

func TestHomeAndTemporaryFiles(t *testing.T) {
	home := func(dir string) proc.Spec { return proc.Spec{Env: []string{"HOME=" + dir}} }
	t.Run("home is empty, its own, and gone at the end", func(t *testing.T) {
		s := newScene(t)
		s.seesWith(Options{}, home(s.dir+"/secret"), "see $HOME/note; put $HOME/new; see $HOME/new", "-\nput\nhi")
		if _, err := os.Stat(s.dir + "/secret/new"); err == nil {
			t.Error("it wrote to the real home")
		}
	})
	t.Run("a missing home", func(t *testing.T) {
		s := newScene(t)
		s.seesWith(Options{}, home(s.dir+"/no/such/home"), "put $HOME/new", "put")
		if _, err := os.Stat(s.dir + "/no"); err == nil {
			t.Error("it was created outside")
		}
	})
	t.Run("homes that cannot be replaced stay", func(t *testing.T) {
		s := newScene(t)
		for _, dir := range []string{"/", "", "relative", "/etc", "/usr", "/proc", "/dev", "/tmp", "/usr/lib", "/usr/share", "/usr/share/no-such-home"} {
			s.seesWith(Options{}, home(dir), "echo ran", "ran")
		}
	})
	t.Run("home by a link", func(t *testing.T) {
		s := newScene(t)
		write(t, s.dir+"/real/me/plugin/data", "its own", 0o644)
		link(t, "real", s.dir+"/home")
		s.seesWith(Options{Own: []string{s.dir + "/home/me/plugin"}, Environ: []string{testPath, "HOME=" + s.dir + "/home/me"}}, home(s.dir+"/home/me"), "see $HOME/plugin/data; put $HOME/new", "its own\nput")
	})
	t.Run("a granted home is the real one", func(t *testing.T) {
		s := newScene(t)
		s.seesWith(Options{Grants: grants(t, "read:fs:"+s.dir+"/granted")}, home(s.dir+"/granted"), "see $HOME/note; put $HOME/new", "a note\n-")
	})
	t.Run("a home within a granted directory is the real one", func(t *testing.T) {
		s := newScene(t)
		s.seesWith(Options{Grants: grants(t, "read:fs:"+s.dir)}, home(s.dir+"/granted"), "see $HOME/note", "a note")
	})
	t.Run("a grant within home", func(t *testing.T) {
		s := newScene(t)
		o := Options{Grants: grants(t, "read:fs:"+s.dir+"/granted"), Own: []string{s.dir + "/plugin"}}
		s.seesWith(o, home(s.dir), "see $HOME/granted/note; see $HOME/plugin/data; see $HOME/secret/note; put $HOME/new", "a note\nits own\n-\nput")
	})
	t.Run("/tmp is its own", func(t *testing.T) {
		s := newScene(t)
		s.sees(Options{}, "put /tmp/new; put /var/tmp/new; put /dev/shm/new", "put\nput\nput")
	})
	t.Run("TMPDIR, wherever it is", func(t *testing.T) {
		s := newScene(t)
		for _, dir := range []string{"/tmp", "/tmp/mine", "/tmp/a/b/c", s.dir + "/secret", s.dir + "/none", "/var/tmp", "/var/tmp/mine", "/dev/shm", "/run/user/1000"} {
			s.seesWith(Options{}, proc.Spec{Env: []string{"TMPDIR=" + dir}}, "put $TMPDIR/new; see $TMPDIR/note", "put\n-")
		}
	})
	t.Run("nothing can be executed in directories that it can write", func(t *testing.T) {
		s := newScene(t)
		cp, chmod := tool(t, "cp"), tool(t, "chmod")
		o := Options{Grants: grants(t, "write:fs:"+s.dir+"/writable"), AnyProgram: true}
		s.sees(o, `for d in /tmp /dev/shm $HOME $D/writable; do `+cp+` `+chmod+` $d/x; `+chmod+` +x $d/x; $d/x --version >/dev/null 2>&1 && echo "$d runs"; done; echo done`, "done")
	})
	t.Run("the working directory shows the granted files", func(t *testing.T) {
		s := newScene(t)
		s.seesWith(Options{}, proc.Spec{Dir: s.dir + "/granted"}, "see note; pwd", "-\n"+s.dir+"/granted")
		s.seesWith(Options{Grants: grants(t, "read:fs:"+s.dir+"/granted")}, proc.Spec{Dir: s.dir + "/granted"}, "see note", "a note")
		s.seesWith(Options{Grants: grants(t, "write:fs:"+s.dir)}, proc.Spec{Dir: s.dir + "/granted"}, "see note; put new", "a note\nput")
	})
	t.Run("the working directory behind a link", func(t *testing.T) {
		s := newScene(t)
		link(t, "granted", s.dir+"/here")
		s.seesWith(Options{Grants: grants(t, "read:fs:"+s.dir+"/granted")}, proc.Spec{Dir: s.dir + "/here"}, "see note", "a note")
		s.seesWith(Options{Own: []string{s.dir + "/here"}}, proc.Spec{Dir: s.dir + "/here"}, "see note", "a note")
	})
}

func TestEverythingMayBeRead(t *testing.T) {
	for name, o := range map[string]Options{"ReadAll": {ReadAll: true}, "read:fs:/": {Grants: grants(t, "read:fs:/")}} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			o.Grants = append(o.Grants, grants(t, "write:fs:"+s.dir+"/writable")...)
			o.Own = []string{s.dir + "/plugin"}
			script := "see $OUT/note; put $OUT/note; see $D/plugin/data; put $D/writable/new; put /tmp/new; see /proc/1/comm; put /dev/null; put /etc/new"
			outside := outsideTmp(t)
			s.seesWith(o, proc.Spec{Env: []string{"OUT=" + outside}}, script, "outside\n-\nits own\nput\nput\n-\nput\n-")
			s.seesWith(o, proc.Spec{Env: []string{"HOME=" + outside}}, "see $HOME/note", "outside")
		})
	}
	t.Run("read:fs:/etc: the made-up files stay made up", func(t *testing.T) {
		s := newScene(t)
		if _, err := os.Stat("/etc/hostname"); err != nil {
			t.Skip("there is no /etc/hostname")
		}
		s.sees(Options{Grants: grants(t, "read:fs:/etc")}, `test -r /etc/hostname && echo hostname; see /etc/resolv.conf; while IFS=: read name rest; do echo passwd; done </etc/passwd`,
			"hostname\nnameserver 127.0.0.1\npasswd")
	})
}

// outsideTmp returns a directory, outside of those that are always the jail's own, with a note that
// only its owner may read.
func outsideTmp(t *testing.T) string {
	t.Helper()
	place := cmp.Or(os.Getenv(outsidePlace), "/var/lib")
	dir, err := os.MkdirTemp(place, "sandbox-test-")
	if err != nil {
		t.Skipf("this user can make no directory outside of /tmp: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	write(t, dir+"/note", "outside", 0o600)
	return dir
}
