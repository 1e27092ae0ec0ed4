package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/patchbay-dev/patchbay/internal/limits"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
)

// planned returns the plan for a shell.
func planned(o Options, env ...string) *draft {
	plan, err := New(o).plan(proc.Launch{Path: "/bin/sh", Argv: []string{"sh"}, Env: append([]string{testPath}, env...), Dir: "/"}, "")
	if err != nil {
		panic(err) // no test here plans something that is refused
	}
	return plan
}

// at returns the kinds of the mounts at a path, in their order. For a path that was moved out of
// /tmp it uses the new path.
func at(p *draft, path string) string {
	here, outside := kinds(p, path), kinds(p, "/outside"+path)
	if outside != "" && outside != "link" {
		return outside
	}
	return here
}

func kinds(p *draft, path string) string {
	var kinds []string
	for _, m := range p.Mounts {
		if m.Target != path {
			continue
		}
		kind := string(m.Kind)
		if m.Write {
			kind += "+write"
		}
		if m.Exec {
			kind += "+exec"
		}
		kinds = append(kinds, kind)
	}
	return strings.Join(kinds, " ")
}

func TestPlanMounts(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"/a/b/c", "/own", "/home/me", "/prefix/bin", "/prefix/lib", "/venv/bin", "/venv/lib"} {
		if err := os.MkdirAll(dir+name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir+"/prefix/bin/python3", "#!/bin/sh\n", 0o755)
	write(t, dir+"/venv/pyvenv.cfg", "home = "+dir+"/prefix/bin\n", 0o644)
	link(t, dir+"/prefix/bin/python3", dir+"/venv/bin/python")
	link(t, "a", dir+"/link")
	for _, c := range []struct {
		rule  string
		o     Options
		env   string
		where string // in the directory, or an absolute path if it begins with /
		want  string
	}{
		{"a readable path is bound", Options{Grants: grants(t, "read:fs:"+dir+"/a")}, "", "a", "bind"},
		{"a writable path is bound for writing", Options{Grants: grants(t, "write:fs:"+dir+"/a")}, "", "a", "bind+write"},
		{"the plugin's own files may be executed", Options{Own: []string{dir + "/own"}}, "", "own", "bind+exec"},
		{"a path that is granted twice is bound once", Options{Grants: grants(t, "read:fs:"+dir+"/a", "read:fs:"+dir+"/a")}, "", "a", "bind"},
		{"reading within writing is covered", Options{Grants: grants(t, "read:fs:"+dir+"/a/b", "write:fs:"+dir+"/a")}, "", "a/b", ""},
		{"writing within writing is covered", Options{Grants: grants(t, "write:fs:"+dir+"/a", "write:fs:"+dir+"/a/b")}, "", "a/b", ""},
		{"writing within reading is not covered", Options{Grants: grants(t, "read:fs:"+dir+"/a", "write:fs:"+dir+"/a/b")}, "", "a/b", "bind+write"},
		{"reading a writable path is covered", Options{Grants: grants(t, "write:fs:"+dir+"/a", "read:fs:"+dir+"/a")}, "", "a", "bind+write"},
		{"a name with the same beginning is another path", Options{Grants: grants(t, "write:fs:"+dir+"/a", "read:fs:"+dir+"/ab")}, "", "ab", "bind"},
		{"a link on the way is a link", Options{Grants: grants(t, "read:fs:"+dir+"/link/b")}, "", "link", "link"},
		{"the target of a link on the way is bound", Options{Grants: grants(t, "read:fs:"+dir+"/link/b")}, "", "a/b", "bind"},

		{"home is in the jail's own /tmp", Options{}, "HOME=/home/of/mine", "/tmp/home", "dir"},
		{"the user's home is not visible", Options{}, "HOME=/home/of/mine", "/home/of/mine", ""},
		{"a grant in the home keeps its path", Options{Grants: grants(t, "read:fs:/home/of/mine/notes")}, "HOME=/home/of/mine", "/home/of/mine/notes", "bind"},
		{"~ leads to a grant in the home", Options{Grants: grants(t, "read:fs:/home/of/mine/notes")}, "HOME=/home/of/mine", "/tmp/home/notes", "link"},
		{"a grant within another in the home has no link", Options{Grants: grants(t, "read:fs:/home/of/mine/a", "write:fs:/home/of/mine/a/b")}, "HOME=/home/of/mine", "/tmp/home/a/b", ""},
		{"the jail's home has an unused name", Options{Grants: grants(t, "read:fs:/tmp/home/x")}, "HOME=/home/of/mine", "/tmp/home-2", "dir"},
		{"if /tmp is granted, the jail's home is in /var/tmp", Options{Grants: grants(t, "read:fs:/tmp")}, "HOME=/home/of/mine", "/var/tmp/home", "dir"},
		{"if all temporary directories are granted, there is no home", Options{Grants: grants(t, "read:fs:/tmp", "read:fs:/var/tmp", "write:fs:/dev/shm")}, "HOME=/home/of/mine", "/dev/shm/home", ""},
		{"a home in /tmp is created there", Options{}, "HOME=" + dir + "/home/me", "home/me", "dir"},
		{"a granted home is not created", Options{Grants: grants(t, "read:fs:"+dir+"/home")}, "HOME=" + dir + "/home/me", "home/me", ""},
		{"home among the system's files stays", Options{}, "HOME=/usr/share", "/usr/share", "bind"},
		{"a directory in /tmp is made there", Options{}, "TMPDIR=/tmp/x", "/tmp/x", "dir"},
		{"another TMPDIR is not visible", Options{}, "TMPDIR=/elsewhere", "/elsewhere", ""},
		{"a granted /tmp is not a directory in memory", Options{Grants: grants(t, "read:fs:/tmp")}, "", "/tmp", "bind"},
		{"/tmp is not made twice", Options{}, "TMPDIR=/tmp", "/tmp", "temp dir"},

		{"an interpreter's libraries are bound", Options{Grants: grants(t, "exec:python:"+dir+"/prefix/bin/python3")}, "", "prefix/lib", "bind+exec"},
		{"the libraries of an interpreter behind a link are bound", Options{Grants: grants(t, "exec:python:"+dir+"/venv/bin/python")}, "", "prefix/lib", "bind+exec"},
		{"the libraries beside the link are bound", Options{Grants: grants(t, "exec:python:"+dir+"/venv/bin/python")}, "", "venv/lib", "bind+exec"},
		{"pyvenv.cfg is bound", Options{Grants: grants(t, "exec:python:"+dir+"/venv/bin/python")}, "", "venv/pyvenv.cfg", "bind+exec"},
		{"the link to an interpreter is a link", Options{Grants: grants(t, "exec:python:"+dir+"/venv/bin/python")}, "", "venv/bin/python", "link"},
		{"programs beside an interpreter are not bound", Options{Grants: grants(t, "exec:python:"+dir+"/venv/bin/python")}, "", "prefix/bin", ""},

		{"read:fs:/ binds the whole file system", Options{Grants: grants(t, "read:fs:/")}, "", "/", "dir bind"},
		{"read:fs:/ has its own /proc", Options{Grants: grants(t, "read:fs:/")}, "", "/proc", "proc"},
		{"ReadAll binds the whole file system for execution", Options{ReadAll: true}, "", "/", "bind+exec"},
		{"ReadAll hides the sockets in /run", Options{ReadAll: true}, "", "/run", "temp"},
		{"AnyProgram has the system's programs", Options{AnyProgram: true}, "", "/usr/bin", "bind+exec"},
		{"a plugin without AnyProgram has no programs", Options{}, "", "/usr/bin", ""},
		{"resolv.conf is made up", Options{}, "", "/etc/resolv.conf", "file"},
		{"hosts is made up, also if the real file is granted", Options{Grants: grants(t, "read:fs:/etc")}, "", "/etc/hosts", "file"},
		{"on the host's network, hosts is the real file", Options{Grants: grants(t, "net:*")}, "", "/etc/hosts", "bind"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			where := c.where
			if !filepath.IsAbs(where) {
				where = filepath.Join(dir, where)
			}
			if got := at(planned(c.o, c.env), where); got != c.want {
				t.Errorf("%s: %q, want %q", where, got, c.want)
			}
		})
	}
}

func TestPlanOrder(t *testing.T) {
	o := Options{Grants: grants(t, "write:fs:/a/b/c", "read:fs:/a", "read:fs:/a/b/c/d", "write:fs:/x/y", "read:fs:/", "read:fs:/etc"), AnyProgram: true, Own: []string{"/usr/share"}}
	p := planned(o, "HOME=/a/home", "TMPDIR=/tmp/a")
	for i, m := range p.Mounts {
		for _, later := range p.Mounts[i+1:] {
			if later.Target != m.Target && within(m.Target, later.Target) {
				t.Errorf("%s is hidden by %s", m.Target, later.Target)
			}
		}
	}
	if p.Mounts[0].Target != "/" {
		t.Errorf("first comes %s", p.Mounts[0].Target)
	}
}

// TestPlanWithALinkOfThePlugin: a link that the plugin could have put at the path of another
// grant is not followed.
func TestPlanWithALinkOfThePlugin(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/secret/note", "a secret", 0o644)
	if err := os.Mkdir(dir+"/w", 0o755); err != nil {
		t.Fatal(err)
	}
	link(t, dir+"/secret", dir+"/w/link")
	link(t, "w", dir+"/also")
	for _, grant := range []string{dir + "/w/link", dir + "/w/link/note", dir + "/also/link", dir + "/also/link/note"} {
		p := planned(Options{Grants: grants(t, "write:fs:"+dir+"/w", "read:fs:"+grant)})
		for _, m := range p.Mounts {
			if m.Kind == jail.Bind && within(m.Source, dir+"/secret") {
				t.Errorf("%s: %+v", grant, m)
			}
		}
	}
}

func TestPlanExec(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/run", "#!/usr/bin/env sh\n", 0o755)
	p, err := New(Options{Own: []string{dir}}).plan(proc.Launch{Path: dir + "/run", Env: []string{testPath}, Dir: "/"}, "")
	if err != nil {
		t.Fatal(err)
	}
	sh, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"/outside" + dir + "/run", "/usr/bin/env", sh, "/outside" + dir} {
		if !slices.Contains(p.Exec, want) {
			t.Errorf("%s may not be executed: %v", want, p.Exec)
		}
	}
	for _, other := range []string{"/usr/bin", "/usr/bin/ls", "/usr/lib", "/"} {
		if slices.Contains(p.Exec, other) {
			t.Errorf("%s may be executed", other)
		}
	}
}

func TestPlanNetwork(t *testing.T) {
	for _, c := range []struct {
		rule    string
		grants  []string
		want    jail.Net
		here    []uint16 // ports of this machine
		sockets bool
	}{
		{"no grant means no network", nil, jail.Net{}, nil, false},
		{"net:[] has no network", []string{"net:[]"}, jail.Net{}, nil, false},
		{"net:* is the host's network", []string{"net:a.example:1", "net:localhost:2", "net:*"}, jail.Net{Shared: true}, nil, true},
		{"a host", []string{"net:a.example:443"}, jail.Net{Broker: true, Ports: []uint16{443}}, nil, true},
		{"two hosts and a port", []string{"net:a.example:443", "net:b.example:443"}, jail.Net{Broker: true, Ports: []uint16{443}}, nil, true},
		{"all ports of a host", []string{"net:a.example:*", "net:b.example:80"}, jail.Net{Broker: true, Ports: []uint16{80}, AllPorts: true}, nil, true},
		{"this machine", []string{"net:127.0.0.1:80", "net:localhost:80", "net:[::1]:81"},
			jail.Net{Broker: true, Ports: []uint16{80, 81}}, []uint16{80, 81}, true},
		{"all ports of this machine", []string{"net:localhost:*"}, jail.Net{Broker: true, AllPorts: true}, []uint16{0}, true},
	} {
		t.Run(c.rule, func(t *testing.T) {
			p := planned(Options{Grants: grants(t, c.grants...)})
			if !reflect.DeepEqual(p.Net, c.want) || p.Sockets != c.sockets || !slices.Equal(p.Loopback, c.here) {
				t.Errorf("%+v, %v, %v; want %+v, %v, %v", p.Net, p.Loopback, p.Sockets, c.want, c.here, c.sockets)
			}
		})
	}
}

func TestPlanLimits(t *testing.T) {
	launch := proc.Launch{Path: "/bin/sh", Dir: "/", Limits: limits.Limits{Processes: 10, Files: 20}}
	p, _ := New(Options{}).plan(launch, "")
	want := []jail.Limit{{Resource: unix.RLIMIT_NPROC, Cur: 10 + ownThreads, Max: 10 + ownThreads}, {Resource: unix.RLIMIT_NOFILE, Cur: 20, Max: 20}}
	if !slices.Equal(p.Limits, want) {
		t.Errorf("%+v, want %+v", p.Limits, want)
	}
	simple, _ := New(Options{System: &System{Namespaces: errors.New("none")}}).plan(launch, "/private")
	if !slices.Equal(simple.Limits, want[1:]) { // no limit on processes: the user's other processes would count
		t.Errorf("without namespaces: %+v", simple.Limits)
	}
}

func TestPlanWithoutNamespaces(t *testing.T) {
	dir := t.TempDir()
	o := Options{Grants: grants(t, "write:fs:"+dir), System: &System{Namespaces: errors.New("none")}}
	p, _ := New(o).plan(proc.Launch{Path: "/bin/sh", Env: []string{"A=1", "HOME=/root", "TMPDIR=/x"}, Dir: "/"}, "/private")
	if !p.Simple || len(p.Mounts) != 0 {
		t.Errorf("simple %v, %d mounts", p.Simple, len(p.Mounts))
	}
	for _, want := range []access{{Path: dir, Write: true}, {Path: "/private", Write: true}, {Path: "/dev/null", Write: true}, {Path: "/usr/lib"}} {
		if !slices.Contains(p.Access, want) {
			t.Errorf("no %+v", want)
		}
	}
	for _, a := range p.Access {
		if a.Path == "/root" || a.Path == "/tmp" || a.Path == "/x" || a.Path == "/" {
			t.Errorf("access to %s", a.Path)
		}
	}
	slices.Sort(p.Env)
	if want := []string{"A=1", "HOME=/private", "TMPDIR=/private"}; !slices.Equal(p.Env, want) {
		t.Errorf("environment %v", p.Env)
	}
}

// TestRefusedPlans: a plan in which the plugin could change its own program or files is refused.
func TestRefusedPlans(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/plugin/run", "#!/bin/sh\n", 0o755)
	write(t, dir+"/prefix/bin/tool", "#!/bin/sh\n", 0o755)
	write(t, dir+"/prefix/lib/library", "", 0o644)
	link(t, dir+"/plugin", dir+"/links/plugin")
	link(t, dir+"/prefix/bin/tool", dir+"/links/tool")
	for _, c := range []struct {
		rule   string
		grants []string
		own    string
		what   string // a part of the error
	}{
		{"its own files within a writable directory", []string{"write:fs:" + dir}, dir + "/plugin", dir + "/plugin"},
		{"its own files are writable", []string{"write:fs:" + dir + "/plugin"}, dir + "/plugin", dir + "/plugin"},
		{"its own files behind a writable link", []string{"write:fs:" + dir + "/links"}, dir + "/links/plugin", dir + "/links/plugin"},
		{"a writable program", []string{"write:fs:" + dir + "/prefix/bin", "exec:tool:" + dir + "/prefix/bin/tool"}, "", dir + "/prefix/bin/tool"},
		{"a program with writable libraries", []string{"write:fs:" + dir + "/prefix", "exec:tool:" + dir + "/prefix/bin/tool"}, "", dir + "/prefix/"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			o := Options{Grants: grants(t, c.grants...)}
			if c.own != "" {
				o.Own = []string{c.own}
			}
			_, err := New(o).plan(proc.Launch{Path: "/bin/sh", Env: []string{testPath}, Dir: "/"}, "")
			if err == nil || !strings.Contains(err.Error(), c.what) {
				t.Errorf("%v, want %s in it", err, c.what)
			}
		})
	}
}

// TestInterpretersWork: the interpreters of this machine start and find their libraries.
func TestInterpretersWork(t *testing.T) {
	needNamespaces(t)
	for name, args := range map[string][]string{
		"python3": {"-c", "import json, ssl, sqlite3, tempfile, subprocess; tempfile.TemporaryFile(); print('ok')"},
		"node":    {"-e", "require('fs'); require('crypto').randomBytes(8); require('os').cpus(); console.log('ok')"},
		"perl":    {"-e", "use POSIX; use File::Temp; print 'ok'"},
		"ruby":    {"-e", "require 'json'; puts 'ok'"},
		"bash":    {"-c", "x=$(echo ok); cat <<<$x 2>/dev/null || echo $x"},
	} {
		t.Run(name, func(t *testing.T) {
			s := sh(Options{}, "")
			s.Path, s.Args = tool(t, name), args
			expect(t, s, "ok")
		})
	}
	t.Run("python of a virtual environment in a home", func(t *testing.T) {
		python := tool(t, "python3")
		home := t.TempDir()
		run, err := os.StartProcess(python, []string{python, "-m", "venv", "--without-pip", home + "/venv"}, &os.ProcAttr{Env: []string{testPath}})
		if err != nil {
			t.Fatal(err)
		}
		if state, err := run.Wait(); err != nil || !state.Success() {
			t.Skipf("no virtual environment can be made: %v", state)
		}
		write(t, home+"/venv/note.py", "", 0o644)
		for rule, o := range map[string]Options{
			"that the plugin ships":       {Own: []string{home + "/venv"}},
			"that the operator activated": {Environ: []string{"PATH=" + home + "/venv/bin:/usr/bin:/bin"}},
			"that exec: names":            {Grants: grants(t, "exec:python3:"+home+"/venv/bin/python3")},
		} {
			t.Run(rule, func(t *testing.T) {
				s := sh(o, "")
				s.Path, s.Args = home+"/venv/bin/python3", []string{"-c", "import sys, json; print(sys.prefix)"}
				s.Env = []string{testPath, "HOME=" + home}
				expect(t, s, home+"/venv")
			})
		}
	})
}
