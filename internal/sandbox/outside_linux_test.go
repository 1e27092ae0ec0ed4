package sandbox

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/patchbay-dev/patchbay/internal/plugtest/machine"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/program"
	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
)

// pipe creates a named pipe with a reader.
func pipe(t *testing.T, path string) {
	t.Helper()
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
}

// needLandlock skips a test that needs Landlock if it is not available.
func needLandlock(t *testing.T) {
	t.Helper()
	if err := here().Landlock; err != nil {
		machine.Lacks(t, machine.Landlock, err)
	}
}

// TestPipes: a named pipe can be written to where files can, and nowhere else.
func TestPipes(t *testing.T) {
	needLandlock(t)
	s := newScene(t)
	home := outsideTmp(t)
	for _, dir := range []string{s.dir + "/granted", s.dir + "/plugin", s.dir + "/writable", home} {
		pipe(t, dir+"/pipe")
	}
	read, write := "read:fs:"+s.dir+"/granted", "write:fs:"+s.dir+"/writable"
	atHome := proc.Spec{Env: []string{"HOME=" + home}}
	for _, c := range []struct {
		rule         string
		o            Options
		with         proc.Spec
		script, want string
	}{
		{"readable files below /tmp", Options{Grants: grants(t, read)}, proc.Spec{}, "put $D/granted/pipe; put /outside$D/granted/pipe", "-\n-"},
		{"writable files", Options{Grants: grants(t, read, write)}, proc.Spec{}, "put $D/writable/pipe; put $D/granted/pipe", "put\n-"},
		{"its own files", Options{Own: []string{s.dir + "/plugin"}}, proc.Spec{Dir: s.dir + "/plugin"}, "put $D/plugin/pipe; put pipe", "-\n-"},
		{"writable files within a readable directory", Options{Grants: grants(t, "read:fs:"+s.dir, write)}, proc.Spec{}, "put $D/granted/pipe; put $D/writable/pipe", "-\nput"},
		{"one pipe", Options{Grants: grants(t, "read:fs:"+s.dir+"/granted/pipe")}, proc.Spec{}, "put $D/granted/pipe", "-"},
		{"/tmp itself", Options{Grants: grants(t, "read:fs:/tmp")}, proc.Spec{}, "put $D/granted/pipe; put /tmp/new", "-\n-"},
		{"a granted home", Options{Grants: grants(t, "read:fs:"+home)}, atHome, "put $HOME/pipe", "-"},
		{"a grant in a home", Options{Grants: grants(t, "read:fs:"+home+"/pipe", "read:fs:"+home+"/note")}, atHome,
			"see $HOME/note; put $HOME/pipe; put " + home + "/pipe; put $HOME/new", "outside\n-\n-\nput"},
		{"files outside of /tmp, if everything may be read", Options{ReadAll: true}, proc.Spec{}, "put " + home + "/pipe", "-"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := scene{t, s.dir}
			s.seesWith(c.o, c.with, c.script, c.want)
		})
	}
	t.Run("without namespaces", func(t *testing.T) {
		s := scene{t, s.dir}
		o := Options{Grants: grants(t, read, write), Own: []string{s.dir + "/plugin"}, System: needSimple(t)}
		s.seesWith(o, atHome, "put $D/granted/pipe; put $D/plugin/pipe; put $D/writable/pipe; put "+home+"/pipe; put $HOME/new", "-\n-\nput\n-\nput")
	})
}

// TestPlanOutside: read-only mounts never lie in writable ones.
func TestPlanOutside(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"/a/b", "/own", "/w", "/real"} {
		if err := os.MkdirAll(dir+name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link(t, "real", dir+"/link")
	all := Options{Grants: grants(t, "read:fs:"+dir+"/a", "write:fs:"+dir+"/a/b", "write:fs:"+dir+"/w", "read:fs:"+dir+"/link"), Own: []string{dir + "/own"}}
	for _, c := range []struct {
		rule        string
		o           Options
		where, want string
	}{
		{"a readable grant is moved", all, "/outside" + dir + "/a", "bind"},
		{"a link leads from the old path to a moved grant", all, dir + "/a", "link"},
		{"the plugin's own files are moved", all, "/outside" + dir + "/own", "bind+exec"},
		{"a grant within a moved one moves with it", all, "/outside" + dir + "/a/b", "bind+write"},
		{"a grant within a moved one needs no link", all, dir + "/a/b", ""},
		{"a writable grant stays", all, dir + "/w", "bind+write"},
		{"a link leads from the moved tree to a writable grant", all, "/outside" + dir + "/w", "link"},
		{"a link leads from the moved tree to a link", all, "/outside" + dir + "/link", "link"},
		{"the target of a link is moved", all, "/outside" + dir + "/real", "bind"},
		{"a mount that is not in memory stays", Options{Grants: grants(t, "read:fs:/srv/a")}, "/srv/a", "bind"},
		{"a granted /outside is not used", Options{Grants: grants(t, "read:fs:/outside/x", "read:fs:"+dir+"/a")}, "/outside-2" + dir + "/a", "bind"},
		{"if the whole file system is readable, nothing is moved", Options{Grants: grants(t, "read:fs:/", "read:fs:"+dir+"/a")}, dir + "/a", "bind"},
		{"if the whole file system is executable, nothing is moved", Options{ReadAll: true, Own: []string{dir + "/own"}}, dir + "/own", "bind+exec"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if got := kinds(planned(c.o), c.where); got != c.want {
				t.Errorf("%s: %q, want %q", c.where, got, c.want)
			}
		})
	}
	t.Run("whatever is granted", func(t *testing.T) {
		for _, o := range []Options{all, {Grants: grants(t, "read:fs:/tmp", "read:fs:/var", "read:fs:/dev", "write:fs:"+dir+"/w")},
			{Grants: grants(t, "read:fs:/var/tmp/x", "read:fs:/dev/shm/y", "read:fs:"+dir+"/a/b", "exec:x:"+dir+"/own/x"), Own: []string{dir + "/a"}}} {
			p := planned(o, "HOME=/home/of/mine", "TMPDIR=/elsewhere")
			for _, m := range p.Mounts {
				if m.Kind == jail.Bind && !m.Write && writableAbove(p, m.Target) {
					t.Errorf("%s lies in a writable directory: %v", m.Target, o.Grants)
				}
			}
		}
	})
}

// writableAbove reports whether the rules allow writing at a path, added up as Landlock does.
func writableAbove(p *draft, path string) bool {
	return slices.ContainsFunc(p.landlock(1).Rules, func(r jail.Rule) bool {
		return r.Rights&unix.LANDLOCK_ACCESS_FS_WRITE_FILE != 0 && within(path, r.Path)
	})
}

// TestPlanHome: HOME names the home of the program.
func TestPlanHome(t *testing.T) {
	for _, c := range []struct {
		rule      string
		o         Options
		home, tmp string
		wantHome  string
		wantTmp   string
	}{
		{"the program gets its own home", Options{}, "/home/ann", "/home/ann/tmp", "/tmp/home", "/tmp"},
		{"a granted home is the real one", Options{Grants: grants(t, "read:fs:/home/ann")}, "/home/ann", "/home/ann/tmp", "/home/ann", "/home/ann/tmp"},
		{"a home within a grant is the real one", Options{Grants: grants(t, "read:fs:/home")}, "/home/ann", "/tmp/x", "/home/ann", "/tmp/x"},
		{"a home in /tmp stays", Options{}, "/tmp/ann", "/var/tmp/x", "/tmp/ann", "/var/tmp/x"},
		{"if everything may be read, the home is the real one", Options{ReadAll: true}, "/home/ann", "/elsewhere", "/home/ann", "/elsewhere"},
		{"if /tmp is granted, temporary files are in /var/tmp", Options{Grants: grants(t, "read:fs:/tmp")}, "/home/ann", "/elsewhere", "/var/tmp/home", "/var/tmp"},
		{"an empty or relative directory is not changed", Options{}, "", "relative", "", "relative"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			p := planned(c.o, "HOME="+c.home, "TMPDIR="+c.tmp)
			if home, tmp := program.Getenv(p.Env, "HOME"), program.Getenv(p.Env, "TMPDIR"); home != c.wantHome || tmp != c.wantTmp {
				t.Errorf("HOME=%s TMPDIR=%s, want %s and %s", home, tmp, c.wantHome, c.wantTmp)
			}
			if want := ":" + cmp.Or(c.wantHome, "/") + ":/bin/sh"; !strings.Contains(content(p, "/etc/passwd"), want) {
				t.Errorf("passwd: %q", content(p, "/etc/passwd"))
			}
		})
	}
	t.Run("a program that works in the home works in its own home", func(t *testing.T) {
		home := outsideTmp(t)
		p, err := New(Options{}).plan(proc.Launch{Path: "/bin/sh", Env: []string{testPath, "HOME=" + home}, Dir: home}, "")
		if err != nil || p.Dir != "/tmp/home" {
			t.Errorf("%s, %v", p.Dir, err)
		}
	})
	t.Run("the host's environment stays as it is", func(t *testing.T) {
		vars := []string{testPath, "HOME=/home/ann"}
		if _, err := New(Options{}).plan(proc.Launch{Path: "/bin/sh", Env: vars, Dir: "/"}, ""); err != nil || vars[1] != "HOME=/home/ann" {
			t.Errorf("%v, %v", vars, err)
		}
	})
}

// content returns the content of a made-up file.
func content(p *draft, path string) string {
	for _, m := range p.Mounts {
		if m.Kind == jail.File && m.Target == path {
			return m.Content
		}
	}
	return ""
}

// TestWhereverAPluginLies: a plugin works the same below a home and below /tmp.
func TestWhereverAPluginLies(t *testing.T) {
	needNamespaces(t)
	for name, home := range map[string]string{"in a home": outsideTmp(t), "in a home in /tmp": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			own := home + "/.local/share/plugins/p"
			write(t, own+"/main.py", "import os, part\nprint(part.word, open(os.path.expanduser('~/notes/a')).read(), open('data').read(), os.path.samefile('.', os.environ['OWN']))\n"+
				"open(os.path.expanduser('~/new'), 'w').write('x')\nopen('../../state/new', 'w').write('x')\n", 0o644)
			write(t, own+"/part.py", "word = 'part'\n", 0o644)
			write(t, own+"/main.mjs", "import { word } from './part.mjs'; import fs from 'fs'; import os from 'os';\n"+
				"console.log(word, fs.readFileSync(os.homedir() + '/notes/a', 'utf8'), fs.readFileSync('data', 'utf8'), fs.realpathSync('.') == fs.realpathSync(process.env.OWN) ? 'True' : '')\n"+
				"fs.writeFileSync(os.homedir() + '/new', 'x'); fs.writeFileSync('../../state/new', 'x')\n", 0o644)
			write(t, own+"/part.mjs", "export const word = 'part'\n", 0o644)
			write(t, own+"/main.sh", "#!/bin/bash\n. ./part.sh; [[ . -ef $OWN ]] && same=True; echo $word $(<~/notes/a) $(<data) $same; echo x >~/new; echo x >../../state/new\n", 0o755)
			write(t, own+"/part.sh", "word=part\n", 0o644)
			write(t, own+"/data", "data", 0o644)
			write(t, home+"/notes/a", "note", 0o644)
			if err := os.Mkdir(home+"/.local/share/state", 0o755); err != nil {
				t.Fatal(err)
			}
			for program, args := range map[string][]string{"python3": {own + "/main.py"}, "node": {own + "/main.mjs"}, "bash": {own + "/main.sh"}, "": nil} {
				t.Run(cmp.Or(program, "by its #! line"), func(t *testing.T) {
					s := sh(Options{Grants: grants(t, "read:fs:"+home+"/notes", "write:fs:"+home+"/.local/share/state"), Own: []string{own}}, "")
					s.Path, s.Args = own+"/main.sh", args
					if program != "" {
						s.Path = tool(t, program)
					}
					s.Env, s.Dir = []string{testPath, "HOME=" + home, "OWN=" + own}, own
					expect(t, s, "part note data True")
					if text, err := os.ReadFile(home + "/.local/share/state/new"); err != nil || len(text) == 0 {
						t.Errorf("%q, %v", text, err)
					}
					if err := os.Remove(home + "/.local/share/state/new"); err != nil {
						t.Error(err)
					}
					if _, err := os.Stat(home + "/new"); err == nil {
						t.Error("the plugin wrote to the real home")
					}
				})
			}
			t.Run("go", func(t *testing.T) {
				copyFile(t, "/proc/self/exe", own+"/plugin")
				s := sh(Options{Grants: grants(t, "read:fs:"+home+"/notes"), Own: []string{own}}, "")
				s.Path, s.Args = own+"/plugin", []string{"-fake", "reads", "data", "$HOME/notes/a", own + "/data", home + "/notes/a"}
				s.Env, s.Dir = []string{testPath, "HOME=" + home}, own
				expect(t, s, "data\nnote\ndata\nnote")
			})
		})
	}
}
