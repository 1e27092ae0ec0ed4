package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/soak"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
)

// A secretHome is the home of an operator with a secret in it, and a plugin that ships the files of
// a case.
type secretHome struct {
	t      *testing.T
	home   string
	own    string // the plugin's directory
	secret string // a directory of secrets: key, bin/tool, lib/key
	marker string // a file that exists if code of the plugin has run outside
}

const secretText = "the operator's secret"

func newSecretHome(t *testing.T, home string) secretHome {
	return secretHomeWith(t, home, "/proc/self/exe")
}

// secretHomeWith makes a secretHome whose env is a hard link to the given copy of this program if
// possible, else another copy.
func secretHomeWith(t *testing.T, home, env string) secretHome {
	t.Helper()
	h := secretHome{t: t, home: home, own: home + "/.local/share/plugins/p", secret: home + "/.secret", marker: home + "/ran-outside"}
	write(t, h.secret+"/key", secretText, 0o600)
	write(t, h.secret+"/run", secretText, 0o755)
	write(t, h.secret+"/lib/key", secretText, 0o600)
	write(t, h.secret+"/bin/tool", "#!/bin/sh\necho "+secretText+"\n", 0o755)
	link(t, "/bin/sh", h.secret+"/bin/linked")
	write(t, h.own+"/data.txt", "data", 0o644)
	if os.Link(env, h.own+"/env") != nil {
		copyFile(t, env, h.own+"/env") // prints every file that is its argument
	}
	write(t, h.own+"/libexec/pyenv", "#!/bin/sh\necho ran >"+h.marker+"\necho /bin/sh\n", 0o755)
	write(t, h.own+"/shims/python", h.shim(h.own), 0o755)
	return h
}

// shim returns the text of a shim of pyenv.
func (h secretHome) shim(root string) string {
	return "#!/bin/sh\nprogram=\"${0##*/}\"\nexport PYENV_ROOT=\"" + root + "\"\nexec \"" + root + "/libexec/pyenv\" exec \"$program\" \"$@\"\n"
}

// expand replaces the names of the secretHome's paths in a text.
func (h secretHome) expand(text string) string {
	return strings.NewReplacer("OWN", h.own, "SECRET", h.secret, "HOME", h.home).Replace(text)
}

// ship creates files in the plugin's directory: "-> TARGET" is a link, "ELF LOADER" a program with
// that loader, anything else a script.
func (h secretHome) ship(files map[string]string) {
	h.t.Helper()
	for name, content := range files {
		content = h.expand(content)
		path := filepath.Join(h.own, name)
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			link(h.t, target, path)
		} else if loader, ok := strings.CutPrefix(content, "ELF "); ok {
			write(h.t, path, elfProgram(loader), 0o755)
		} else {
			write(h.t, path, content, 0o755)
		}
	}
}

// A trickFiles has the files by which a plugin tries to see more than it was granted.
type trickFiles struct {
	name    string
	files   map[string]string
	command []string // OWN/run if empty
	grants  []string
	env     []string
	refusal string // expected in the message; if empty, it may start, and must find nothing
}

// ways are the ways in which a file names another file. Each is tried as the plugin's command and
// as a program that exec: names.
var ways = []trickFiles{
	{name: "a #! line", files: map[string]string{"run": "#!SECRET/run\n"}, refusal: `add "exec:run:SECRET/run"`},
	{name: "a #! line that names no program", files: map[string]string{"run": "#!SECRET/key\n"}, refusal: "SECRET/key is not an executable file"},
	{name: "a #! line that names a directory", files: map[string]string{"run": "#!SECRET\n"}, refusal: "SECRET is a directory"},
	{name: "a #! line with a detour", files: map[string]string{"run": "#!/usr/bin/../../SECRET/run\n"}, refusal: `add "exec:run:SECRET/run"`},
	{name: "a #! line that leads through a shipped link", files: map[string]string{"run": "#!OWN/up/.secret/run\n", "up": "-> HOME"}, refusal: `add "exec:run:SECRET/run"`},
	{name: "a program that is missing, with libraries beside it", files: map[string]string{"run": "#!SECRET/bin/nonexistent\n"}},
	{name: "an argument of env", files: map[string]string{"run": "#!/usr/bin/env SECRET/run\n"}, refusal: `add "exec:run:SECRET/run"`},
	{name: "an argument of env that names no program", files: map[string]string{"run": "#!/usr/bin/env SECRET/key\n"}, refusal: "SECRET/key is not an executable file"},
	{name: "an argument of env -S", files: map[string]string{"run": "#!/usr/bin/env -S A=b SECRET/run -x\n"}, refusal: `add "exec:run:SECRET/run"`},
	{name: "a name that env finds by a PATH of the line", files: map[string]string{"run": "#!/usr/bin/env -S PATH=SECRET/bin tool\n"}, refusal: `add "exec:tool:SECRET/bin/tool"`},
	{name: "an argument of something called env", files: map[string]string{"run": "#!OWN/env SECRET/key\n"}},
	{name: "a directory as an argument of something called env", files: map[string]string{"run": "#!OWN/env SECRET\n"}},
	{name: "a link", files: map[string]string{"run": "-> SECRET/run"}, refusal: `add "exec:run:SECRET/run"`},
	{name: "a link to no program", files: map[string]string{"run": "-> SECRET/key"}, refusal: "SECRET/key) is not an executable file"},
	{name: "a link to a directory", files: map[string]string{"run": "-> SECRET"}, refusal: "SECRET) is a directory"},
	{name: "a link to a link of the operator", files: map[string]string{"run": "#!OWN/sh\n", "sh": "-> SECRET/bin/linked"}, refusal: `add "exec:linked:SECRET/bin/linked"`},
	{name: "a link of the operator to a program of the system", files: map[string]string{"run": "#!SECRET/bin/linked\n"}, refusal: `add "exec:linked:SECRET/bin/linked"`},
	{name: "a link with a detour by another", files: map[string]string{"run": "-> d/../run", "d": "-> SECRET/lib"}, refusal: `add "exec:run:SECRET/run"`},
	{name: "a link with a detour that looks like a shipped file", files: map[string]string{"run": "#!OWN/sh\n", "sh": "-> d/../bin/tool", "bin/tool": "#!/bin/sh\n", "d": "-> SECRET/lib"},
		refusal: `add "exec:tool:SECRET/bin/tool"`},
	{name: "a #! line with a detour by a shipped link", files: map[string]string{"run": "#!OWN/d/../bin/tool\n", "bin/tool": "#!/bin/sh\n", "d": "-> SECRET/lib"}, refusal: `add "exec:tool:SECRET/bin/tool"`},
	{name: "a #! line that ends in two dots", files: map[string]string{"run": "#!OWN/d/..\n", "d": "-> SECRET/lib"}, refusal: "is a directory"},
	{name: "an argument of env with a detour by a shipped link", files: map[string]string{"run": "#!/usr/bin/env OWN/d/../bin/tool\n", "bin/tool": "#!/bin/sh\n", "d": "-> SECRET/lib"},
		refusal: `add "exec:tool:SECRET/bin/tool"`},
	{name: "a PATH with a detour by a shipped link", files: map[string]string{"run": "#!/usr/bin/env -S PATH=OWN/d/../bin tool\n", "bin/tool": "#!/bin/sh\n", "d": "-> SECRET/lib"}},
	{name: "a loader with a detour by a shipped link", files: map[string]string{"run": "ELF OWN/d/../run", "d": "-> SECRET/lib"}, refusal: `add "exec:run:SECRET/run"`},
	{name: "a loader", files: map[string]string{"run": "ELF SECRET/run"}, refusal: `add "exec:run:SECRET/run"`},
	{name: "a loader that is no program", files: map[string]string{"run": "ELF SECRET/key"}, refusal: "SECRET/key is not an executable file"},
	{name: "a loader by a shipped link", files: map[string]string{"run": "ELF OWN/ld.so", "ld.so": "-> SECRET/key"}, refusal: "SECRET/key) is not an executable file"},
	{name: "a script by a script", files: map[string]string{"run": "#!OWN/second\n", "second": "#!OWN/third\n", "third": "#!SECRET/run\n"}, refusal: `add "exec:run:SECRET/run"`},
	{name: "scripts in a circle", files: map[string]string{"run": "#!OWN/second\n", "second": "#!OWN/run\n"}, refusal: "too many interpreters"},
	{name: "a relative #! line", files: map[string]string{"run": "#!../../../../.secret/run\n"}},
	{name: "env in another directory", files: map[string]string{"run": "#!/usr/bin/env -S -C SECRET ./run\n"}},
	{name: "a NUL byte in a #! line", files: map[string]string{"run": "#!OWN/env\x00SECRET/key\n"}},
	{name: "a #! line that the kernel cuts off", files: map[string]string{"run": "#!/usr/bin/env -S " + strings.Repeat("A=b ", 100) + "SECRET/run\n"}},
	{name: "a virtual environment that names another home", files: map[string]string{"run": "#!OWN/.venv/bin/python3\nimport sys\nprint(open('SECRET/key').read())\n",
		".venv/bin/python3": "-> /usr/bin/python3", ".venv/pyvenv.cfg": "home = SECRET/bin\ninclude-system-site-packages = true\n"}},
	{name: "a #! line that ends as on Windows", files: map[string]string{"run": "#!SECRET/run\r\n"}},
	{name: "a #! line with blanks, and no end", files: map[string]string{"run": "#! \t SECRET/run"}, refusal: `add "exec:run:SECRET/run"`},
	{name: "a #! line through the host's own directory", files: map[string]string{"run": "#!/proc/self/cwd/../../../../../../SECRET/run\n"}, refusal: "neither among"},
	{name: "a link through the host's own root", files: map[string]string{"run": "-> /proc/self/root/SECRET/run"}, refusal: "neither among"},
	{name: "a link through the root of another process", files: map[string]string{"run": "-> /proc/1/root/SECRET/run"}},
	{name: "a link to a descriptor of the host", files: map[string]string{"run": "-> /dev/fd/0"}},
	{name: "a variable of the manifest's in env -S", env: []string{"A=SECRET"}, files: map[string]string{"run": "#!/usr/bin/env -S ${A}/run\n"}, refusal: `add "exec:run:SECRET/run"`},
	{name: "an -S in an -S, and a comment", files: map[string]string{"run": "#!/usr/bin/env -vS -S SECRET/run #x\n"}, refusal: `add "exec:run:SECRET/run"`},
	{name: "a loader with a NUL in its name", files: map[string]string{"run": "ELF SECRET/run\x00/lib/x"}},
	{name: "names with control characters", files: map[string]string{"run": "#!OWN/a\tb\n", "a": "-> c\nd", "c\nd": "-> SECRET/run"}, refusal: `add "exec:run:SECRET/run"`},
	{name: "a shim", files: map[string]string{"run": "#!OWN/shims/python\n"}},
	{name: "a shim that env finds", files: map[string]string{"run": "#!/usr/bin/env -S PATH=OWN/shims python\n"}},
	{name: "a link to a shim", files: map[string]string{"run": "#!OWN/x/python\n", "x": "-> OWN/shims"}},
}

var allTricks = []trickFiles{
	{name: "a command outside", command: []string{"SECRET/run"}, refusal: `add "exec:run:SECRET/run"`},
	{name: "a bare command in a PATH of the manifest", command: []string{"tool"}, env: []string{"PATH=SECRET/bin:/usr/bin:/bin"}, refusal: `add "exec:tool:SECRET/bin/tool"`},
	{name: "env with a PATH of the manifest", command: []string{"/usr/bin/env", "tool"}, env: []string{"PATH=SECRET/bin:/usr/bin:/bin"}, refusal: `add "exec:tool:SECRET/bin/tool"`},
	{name: "a directory that exec: names", command: []string{"/bin/sh"}, grants: []string{"exec:x:SECRET"}, refusal: "SECRET is a directory"},
	{name: "a file that exec: names and that is no program", command: []string{"/bin/sh"}, grants: []string{"exec:x:SECRET/key"}, refusal: "is not an executable file"},
	{name: "a shipped link that exec: names", command: []string{"/bin/sh"}, files: map[string]string{"x": "-> SECRET/bin/tool"}, grants: []string{"exec:x:OWN/x"}, refusal: `add "exec:tool:SECRET/bin/tool"`},
	{name: "a shipped link to read", command: []string{"/bin/sh"}, files: map[string]string{"data": "-> SECRET"}, grants: []string{"read:fs:OWN/data"}, refusal: `add "read:fs:SECRET"`},
	{name: "a shipped link to write", command: []string{"/bin/sh"}, files: map[string]string{"data": "-> SECRET"}, grants: []string{"write:fs:OWN/data"}, refusal: `add "write:fs:SECRET"`},
	{name: "a shipped link on the way to read", command: []string{"/bin/sh"}, files: map[string]string{"up": "-> HOME"}, grants: []string{"read:fs:OWN/up/.secret/key"}, refusal: `add "read:fs:SECRET/key"`},
	{name: "a shipped link on the way to what exec: names", command: []string{"/bin/sh", "-c", "OWN/env SECRET/run"}, files: map[string]string{"up": "-> SECRET"}, grants: []string{"exec:x:OWN/up/run"},
		refusal: `add "exec:run:SECRET/run"`},
	{name: "the same, with libraries beside it", command: []string{"/bin/sh", "-c", "OWN/env SECRET/lib/key"}, files: map[string]string{"up": "-> SECRET"}, grants: []string{"exec:x:OWN/up/bin/tool"},
		refusal: `add "exec:tool:SECRET/bin/tool"`},
	{name: "the same, by a detour", command: []string{"/bin/sh", "-c", "OWN/env SECRET/run"}, files: map[string]string{"up": "-> d/..", "d": "-> SECRET/lib"}, grants: []string{"exec:x:OWN/up/run"},
		refusal: `add "exec:run:SECRET/run"`},
	{name: "a shipped link with a detour to read", command: []string{"/bin/sh"}, files: map[string]string{"data": "-> d/..", "d": "-> SECRET/lib"}, grants: []string{"read:fs:OWN/data"}, refusal: `add "read:fs:SECRET"`},
	{name: "a shipped link with a detour to make something", command: []string{"/bin/sh"}, files: map[string]string{"data": "-> d/..", "d": "-> SECRET/lib"}, grants: []string{"write:fs:OWN/data/new"},
		refusal: `add "write:fs:SECRET/new"`},
	{name: "a shipped link to nothing, to make it", command: []string{"/bin/sh"}, files: map[string]string{"data": "-> SECRET/new"}, grants: []string{"write:fs:OWN/data"}, refusal: `add "write:fs:SECRET/new"`},
	{name: "a shipped link to its own directory, to write", command: []string{"/bin/sh", "-c", "echo evil >OWN/manifest.yaml"}, files: map[string]string{"data": "-> .", "manifest.yaml": "name: p\n"},
		grants: []string{"write:fs:OWN/data"}, refusal: "it may change OWN"},
	{name: "a shipped link to the plugins around it, to write", command: []string{"/bin/sh"}, files: map[string]string{"data": "-> .."}, grants: []string{"write:fs:OWN/data"}, refusal: "among the plugin's own files"},
	{name: "a shipped link back to itself, to write", command: []string{"/bin/sh", "-c", "echo evil >OWN/manifest.yaml"}, files: map[string]string{"cache/x": "", "up": "-> cache/../..", "manifest.yaml": "name: p\n"},
		grants: []string{"write:fs:OWN/up/p"}, refusal: "to which OWN/up leads"},
	{name: "variables of loaders, shells and the jail", command: []string{"/bin/bash", "-c", "OWN/env SECRET/key"}, files: map[string]string{"evil": "echo ran >HOME/ran-outside\n"},
		env: []string{"BASH_ENV=OWN/evil", "ENV=OWN/evil", "LD_PRELOAD=OWN/env", "LD_LIBRARY_PATH=OWN", "LD_AUDIT=OWN/env", "PATCHBAY_JAIL=patchbay-jail-init:4:0", "GODEBUG=execerrdot=0", "GOCOVERDIR=SECRET", "TMPDIR=SECRET"}},
	{name: "its manifest, to write", command: []string{"/bin/sh", "-c", "echo evil >OWN/manifest.yaml"}, files: map[string]string{"manifest.yaml": "name: p\n"},
		grants: []string{"write:fs:OWN/manifest.yaml"}, refusal: "among the plugin's own files"},
	{name: "a manifest that is not there, to write", command: []string{"/bin/sh", "-c", "echo evil >OWN/manifest.yaml"}, grants: []string{"write:fs:OWN/manifest.yaml"}, refusal: "among the plugin's own files"},
	{name: "a shipped link to its manifest, to write", command: []string{"/bin/sh", "-c", "echo evil >OWN/manifest.yaml"}, files: map[string]string{"manifest.yaml": "name: p\n", "x": "-> manifest.yaml"},
		grants: []string{"write:fs:OWN/x"}, refusal: "among the plugin's own files"},
	{name: "its manifest by a link, to write", command: []string{"/bin/sh", "-c", "echo evil >OWN/cache/m"}, files: map[string]string{"manifest.yaml": "-> cache/m", "cache/m": ""},
		grants: []string{"write:fs:OWN/cache"}, refusal: "it may change OWN/cache/m, to which OWN/manifest.yaml leads"},
	{name: "its manifest by a link to nothing, to write", command: []string{"/bin/sh", "-c", "echo evil >OWN/cache/m"}, files: map[string]string{"manifest.yaml": "-> cache/m"},
		grants: []string{"write:fs:OWN/cache"}, refusal: "it may change OWN/cache/m, to which OWN/manifest.yaml leads"},
	{name: "its manifest by two links, to write", command: []string{"/bin/sh", "-c", "echo evil >OWN/cache/m"}, files: map[string]string{"manifest.yaml": "-> cache/d/m", "cache/d": "-> OWN/other", "other/m": ""},
		grants: []string{"write:fs:OWN/cache"}, refusal: "to which OWN/manifest.yaml leads"},
	{name: "a program in a directory that may be written", command: []string{"/bin/sh"}, files: map[string]string{"cache/tool": "#!/bin/sh\n"},
		grants: []string{"write:fs:OWN/cache", "exec:tool:OWN/cache/tool"}, refusal: "it may change OWN/cache/tool"},
	{name: "an interpreter in a directory that may be written", files: map[string]string{"run": "#!OWN/cache/tool\n", "cache/tool": "#!/bin/sh\n"},
		grants: []string{"write:fs:OWN/cache"}, refusal: "it may change OWN/cache/tool"},
}

// TestWhatAPluginShipsWidensNothing: whatever its files contain, a plugin with these capabilities
// sees no files of the operator, and none of its code runs outside.
func TestWhatAPluginShipsWidensNothing(t *testing.T) {
	needNamespaces(t)
	all := allTricks
	for _, w := range ways {
		all = append(all, w)
		w.name += ", which exec: names"
		w.command, w.grants = []string{"/bin/sh", "-c", "OWN/run; OWN/env SECRET/key SECRET/lib/key"}, []string{"exec:run:OWN/run"}
		all = append(all, w)
	}
	env := t.TempDir() + "/env" // copied once: it has many megabytes, and there are hundreds of cases
	copyFile(t, "/proc/self/exe", env)
	places := []struct {
		name string
		home func(t *testing.T) string
	}{{"below a home", outsideTmp}, {"below /tmp", func(t *testing.T) string { return t.TempDir() }}}
	for i, c := range all {
		for j, place := range places {
			if !soak.Pair(i+i/2, j, len(places)) { // in a short run, the two cases of one way are in different places
				continue
			}
			t.Run(place.name+"/"+c.name, func(t *testing.T) {
				t.Parallel() // a start mostly waits for the kernel
				secretHomeWith(t, place.home(t), env).keepsSecret(c, nil)
			})
		}
	}
	system := needSimple(t)
	for _, c := range all {
		t.Run("by Landlock alone/"+c.name, func(t *testing.T) {
			t.Parallel()
			secretHomeWith(t, outsideTmp(t), env).keepsSecret(c, system)
		})
	}
}

// TestAProgramCalledEnv: a program of the plugin with the name env is a program like any other: the
// files that its arguments name are neither judged nor mounted.
func TestAProgramCalledEnv(t *testing.T) {
	needNamespaces(t)
	for name, system := range map[string]*System{"with namespaces": nil, "by Landlock alone": needSimple(t)} {
		t.Run(name, func(t *testing.T) {
			h := newSecretHome(t, outsideTmp(t))
			h.ship(map[string]string{"run": "#!OWN/env SECRET/key\n"})
			o := Options{Own: []string{h.own}, Environ: []string{testPath, "HOME=" + h.home}, System: system}
			r, err := newGroup(t).Run(t.Context(), proc.Spec{Path: h.own + "/run", Dir: h.own, Env: []string{testPath}, Box: New(o)}, proc.Call{})
			if err != nil || strings.Contains(string(r.Stdout), secretText) {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// TestOddNamesOfAPlugin: whatever the name of its directory, a plugin sees its own files and none
// of the operator's.
func TestOddNamesOfAPlugin(t *testing.T) {
	needNamespaces(t)
	for _, name := range []string{"a b", "a\nb", "a:b", "-x", "a\\040b", "x (deleted)", "shims", "lib", "%s$(id)'\"", strings.Repeat("n", 255)} {
		t.Run(name, func(t *testing.T) {
			h := newSecretHome(t, outsideTmp(t))
			own := filepath.Join(h.home, "plugins", name)
			write(t, own+"/data", "data", 0o644)
			write(t, own+"/run", "#!/bin/sh\nfor f in \"${0%/*}/data\" "+h.secret+"/key; do read -r line <\"$f\"; echo $line; done 2>/dev/null\n", 0o755)
			o := Options{Own: []string{own}, Environ: []string{testPath, "HOME=" + h.home}}
			expect(t, proc.Spec{Path: own + "/run", Dir: own, Env: []string{testPath}, Box: New(o)}, "data\ndata")
		})
	}
}

// keepsSecret ships a case, starts the plugin and checks the result. Neither its output nor its
// mounts may contain the secret, and none of its code may run outside.
func (h secretHome) keepsSecret(c trickFiles, system *System) {
	h.t.Helper()
	h.ship(c.files)
	command := []string{h.own + "/run"}
	if c.command != nil {
		command = nil
		for _, word := range c.command {
			command = append(command, h.expand(word))
		}
	}
	s := proc.Spec{Path: command[0], Args: command[1:], Dir: h.own, Env: []string{testPath, "HOME=" + h.home}}
	for _, entry := range c.env {
		s.Env = append([]string{h.expand(entry)}, s.Env...)
	}
	box := h.box(c, system)
	s.Box = box
	g := newGroup(h.t)
	r, err := g.Run(h.t.Context(), s, proc.Call{})
	if r != nil && strings.Contains(string(r.Stdout)+r.Stderr, secretText) {
		h.t.Errorf("the plugin has the secret: %s%s", r.Stdout, r.Stderr)
	}
	if want := h.expand(c.refusal); c.refusal != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		h.t.Errorf("%v, want %q in it", err, want)
	}
	if _, err := os.Stat(h.marker); err == nil {
		h.t.Error("code of the plugin ran outside")
	}
	if text, err := os.ReadFile(h.own + "/manifest.yaml"); err == nil && strings.Contains(string(text), "evil") {
		h.t.Errorf("its manifest is %q", text)
	}
	h.mountsNothing(box, s)
}

func (h secretHome) box(c trickFiles, system *System) *Box {
	var texts []string
	for _, text := range c.grants {
		texts = append(texts, h.expand(text))
	}
	return New(Options{Grants: grants(h.t, texts...), Own: []string{h.own}, Environ: []string{testPath, "HOME=" + h.home}, System: system})
}

// mountsNothing checks that no part of the secret is in the plan.
func (h secretHome) mountsNothing(b *Box, s proc.Spec) {
	h.t.Helper()
	plan, err := b.plan(proc.Launch{Path: s.Path, Argv: append([]string{s.Path}, s.Args...), Env: s.Env, Dir: s.Dir}, h.home+"/private")
	if err != nil {
		return
	}
	for _, m := range plan.Mounts {
		if m.Kind == jail.Bind && (within(m.Source, h.secret) || within(h.secret, m.Source)) {
			h.t.Errorf("mounted: %+v", m)
		}
	}
	for _, a := range plan.Access {
		if within(a.Path, h.secret) || within(h.secret, a.Path) {
			h.t.Errorf("the plan allows access: %+v", a)
		}
	}
}

// TestShimsOfTheOperator: the tool of a shim runs outside. It runs no code of the plugin, and uses
// none of the plugin's variables.
func TestShimsOfTheOperator(t *testing.T) {
	needNamespaces(t)
	pyenv := func(t *testing.T) (h secretHome, root string) {
		h = newSecretHome(t, outsideTmp(t))
		root = h.home + "/.pyenv"
		write(t, root+"/shims/python", h.shim(root), 0o755)
		write(t, root+"/version", "1\n", 0o644)
		write(t, root+"/libexec/pyenv", "#!/bin/bash\nread v <$PWD/.python-version || v=1\necho $PYENV_ROOT/versions/$v/bin/python\n", 0o755)
		write(t, root+"/versions/1/bin/python", "#!/bin/sh\necho real $1; read line <"+root+"/versions/1/lib/library; echo $line\n", 0o755)
		write(t, root+"/versions/1/lib/library", "library", 0o644)
		h.ship(map[string]string{"run": "#!/usr/bin/env python\n"})
		return h, root
	}
	environ := func(h secretHome, root string) []string {
		return []string{"PATH=" + root + "/shims:/usr/bin:/bin", "HOME=" + h.home}
	}
	start := func(t *testing.T, h secretHome, root string, system *System, env ...string) (*proc.Result, error) {
		s := proc.Spec{Path: h.own + "/run", Dir: h.own, Env: append(env, environ(h, root)...)}
		s.Box = New(Options{Own: []string{h.own}, Environ: environ(h, root), System: system})
		return newGroup(t).Run(t.Context(), s, proc.Call{})
	}
	t.Run("the program behind the shim is mounted, with its libraries", func(t *testing.T) {
		h, root := pyenv(t)
		r, err := start(t, h, root, nil)
		if err != nil || string(r.Stdout) != "real "+h.own+"/run\nlibrary\n" {
			t.Errorf("%v, %+v", err, r)
		}
	})
	t.Run("also by Landlock alone", func(t *testing.T) {
		h, root := pyenv(t)
		r, err := start(t, h, root, needSimple(t))
		if err != nil || string(r.Stdout) != "real "+h.own+"/run\nlibrary\n" {
			t.Errorf("%v, %+v", err, r)
		}
	})
	t.Run("the plugin's variables are not used outside", func(t *testing.T) {
		h, root := pyenv(t)
		h.ship(map[string]string{"evil.sh": "echo ran >" + h.marker + "\n"})
		if _, err := start(t, h, root, nil, "BASH_ENV="+h.own+"/evil.sh", "ENV="+h.own+"/evil.sh", "LD_PRELOAD="+h.own+"/evil.sh", "PYENV_ROOT="+h.own); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(h.marker); err == nil {
			t.Error("code of the plugin ran outside")
		}
	})
	t.Run("a version outside of the installation is ignored", func(t *testing.T) {
		h, root := pyenv(t)
		write(t, h.secret+"/bin/python", "#!/bin/sh\necho "+secretText+"\n", 0o755)
		write(t, h.own+"/.python-version", "../../.secret\n", 0o644)
		r, _ := start(t, h, root, nil)
		if r != nil && strings.Contains(string(r.Stdout), secretText) {
			t.Errorf("%+v", r)
		}
	})
}

// TestLibrariesBesideAPlugin: for a plugin in a directory called bin, the directories beside that
// are not mounted.
func TestLibrariesBesideAPlugin(t *testing.T) {
	needNamespaces(t)
	home := outsideTmp(t)
	write(t, home+"/bin/plugin", "#!/bin/sh\nread line 2>/dev/null <"+home+"/lib/note; echo \"got $line\"\n", 0o755)
	write(t, home+"/lib/note", secretText, 0o644)
	for name, own := range map[string]string{"a file in bin": home + "/bin/plugin", "a directory called bin": home + "/bin"} {
		t.Run(name, func(t *testing.T) {
			s := sh(Options{Own: []string{own}, Environ: []string{"PATH=" + home + "/bin:/usr/bin:/bin", "HOME=/elsewhere"}}, "")
			s.Path, s.Args = home+"/bin/plugin", nil
			expect(t, s, "got")
		})
	}
}

// TestRealPluginsStart: the usual ways in which plugins find their interpreter work inside as
// outside.
func TestRealPluginsStart(t *testing.T) {
	needNamespaces(t)
	h := newSecretHome(t, outsideTmp(t))
	bun, node := h.home+"/.bun/bin", h.home+"/.nvm/versions/node/v1/bin"
	write(t, bun+"/bun", "#!/bin/sh\necho bun \"$@\" $A\n", 0o755)
	write(t, node+"/node", "#!/bin/sh\nread line <"+node+"/../lib/module; echo node $line\n", 0o755)
	write(t, h.home+"/.nvm/versions/node/v1/lib/module", "module", 0o644)
	h.ship(map[string]string{
		"x.ts": "ts", "shell": "#!/usr/bin/env -S sh -u\necho shell $1\n", "tabbed": "#!/usr/bin/env\tsh\necho tabbed\n", ".venv/bin/python": "-> python3",
		".venv/bin/python3": "-> /bin/sh", "venv": "#!OWN/.venv/bin/python\necho venv\n", "node": "#!/usr/bin/env node\n",
		"bin/inner": "#!/bin/sh\necho inner\n", "assigned": "#!/usr/bin/env -S A='b c' sh\necho $A\n", "unset": "#!/usr/bin/env -S -u LANG sh\necho \"${LANG-none}\"\n",
	})
	environ := []string{"PATH=" + bun + ":" + node + ":/usr/bin:/bin", "HOME=" + h.home, "LANG=C"}
	for _, c := range []struct {
		rule    string
		command []string
		env     string
		want    string
	}{
		{"env with a program in the PATH", []string{"/usr/bin/env", "bun", "x.ts"}, "", "bun x.ts"},
		{"by the other name of env", []string{"/bin/env", "bun", "x.ts"}, "", "bun x.ts"},
		{"env by its bare name", []string{"env", "bun", "x.ts"}, "", "bun x.ts"},
		{"env with an assignment", []string{"/usr/bin/env", "A=b", "bun", "x.ts"}, "", "bun x.ts b"},
		{"env -S in one argument", []string{"/usr/bin/env", "-S", "A=b bun 'x y'"}, "", "bun x y b"},
		{"env with options", []string{"/usr/bin/env", "-u", "LANG", "--", "bun"}, "", "bun"},
		{"env without an environment", []string{"/usr/bin/env", "-i", "sh", "-c", "echo clean"}, "", "clean"},
		{"a program in the PATH, by its bare name", []string{"bun", "run"}, "", "bun run"},
		{"and by its full path", []string{"HOME/.bun/bin/bun", "run"}, "", "bun run"},
		{"libraries beside it", []string{"OWN/node"}, "", "node module"},
		{"a virtual environment among its files", []string{"OWN/venv"}, "", "venv"},
		{"a #! line with env -S", []string{"OWN/shell", "a"}, "", "shell a"},
		{"a #! line with a tab", []string{"OWN/tabbed"}, "", "tabbed"},
		{"a #! line with an assignment", []string{"OWN/assigned"}, "", "b c"},
		{"a #! line with an option", []string{"OWN/unset"}, "", "none"},
		{"a PATH of the manifest into its own files", []string{"/usr/bin/env", "inner"}, "PATH=OWN/bin:/usr/bin:/bin", "inner"},
		{"a PATH of the manifest with a place that it may not see", []string{"/usr/bin/env", "sh", "-c", "echo sh"}, "PATH=SECRET/bin:/usr/bin:/bin", "sh"},
		{"a relative PATH", []string{"/usr/bin/env", "inner"}, "PATH=bin:/usr/bin", "inner"},
		{"an empty argument", []string{"bun", "", "x"}, "", "bun  x"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var command []string
			for _, word := range c.command {
				command = append(command, h.expand(word))
			}
			s := proc.Spec{Path: command[0], Args: command[1:], Dir: h.own, Env: environ, Box: New(Options{Own: []string{h.own}, Environ: environ})}
			if c.env != "" {
				s.Env = append([]string{h.expand(c.env)}, environ...)
			}
			expect(t, s, c.want)
		})
	}
}
