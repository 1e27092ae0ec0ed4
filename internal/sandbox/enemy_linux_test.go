package sandbox

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/proc"
)

// manyLinks ships a chain of more links than are followed, from first to target.
func (h hideout) manyLinks(first, target string) {
	h.t.Helper()
	const links = maxLinks + 5
	at := filepath.Join(h.own, first)
	for i := range links {
		to := fmt.Sprintf("%s/chain-%s-%d", h.own, first, i)
		if i == links-1 {
			to = target
		}
		link(h.t, to, at)
		at = to
	}
}

// TestLinksWithoutEnd: where a way has more links than the kernel follows, nothing at its end is granted.
func TestLinksWithoutEnd(t *testing.T) {
	needNamespaces(t)
	for name, system := range map[string]*System{"with namespaces": nil, "by Landlock alone": needSimple(t)} {
		for _, kind := range []string{"read:fs:OWN/data", "write:fs:OWN/data", "read:fs:OWN/data/key", "exec:data:OWN/data"} {
			for _, target := range []string{"SECRET", "SECRET/key", "SECRET/run"} {
				t.Run(name+"/"+kind+"/"+target, func(t *testing.T) {
					h := newHideout(t, outsideTmp(t))
					h.manyLinks("data", h.expand(target))
					h.hold(shipment{command: []string{"/bin/sh", "-c", "for f in OWN/data OWN/data/key OWN/chain* SECRET/key SECRET/run; do read -r line <$f && echo $line; done; echo x >SECRET/new"},
						grants: []string{kind}}, system)
					if _, err := os.Stat(h.secret + "/new"); err == nil {
						t.Error("it made a file outside")
					}
				})
			}
		}
	}
}

// TestGrantsOfItsOwnMakeNothingOutside: a grant that leaves the plugin's files by a shipped link makes nothing where it leads.
func TestGrantsOfItsOwnMakeNothingOutside(t *testing.T) {
	needNamespaces(t)
	for _, grant := range []string{"write:fs:OWN/up/made", "write:fs:OWN/up/made.toml", "write:fs:OWN/direct"} {
		t.Run(grant, func(t *testing.T) {
			h := newHideout(t, outsideTmp(t))
			h.ship(map[string]string{"up": "-> SECRET", "direct": "-> SECRET/made"})
			h.hold(shipment{command: []string{"/bin/true"}, grants: []string{grant}, refusal: "among the plugin's own files"}, nil)
			for _, name := range []string{"/made", "/made.toml"} {
				if _, err := os.Lstat(h.secret + name); err == nil {
					t.Errorf("%s was made", name)
				}
			}
		})
	}
}

// TestLibrariesBesideAnotherLink: a program that exec: names brings the libraries beside it, not those beside any link of the operator's that leads to it.
func TestLibrariesBesideAnotherLink(t *testing.T) {
	needNamespaces(t)
	for _, c := range []shipment{
		{name: "named by its command", command: []string{"SECRET/bin/linked", "-c", "OWN/env SECRET/lib/key"}},
		{name: "named by a #! line", files: map[string]string{"run": "#!SECRET/bin/linked\nOWN/env SECRET/lib/key\n"}},
		{name: "named by a shipped link", files: map[string]string{"run": "#!OWN/sh\nOWN/env SECRET/lib/key\n", "sh": "-> SECRET/bin/linked"}},
		{name: "found by env", files: map[string]string{"run": "#!/usr/bin/env -S PATH=SECRET/bin linked\nOWN/env SECRET/lib/key\n"}},
	} {
		for system, s := range map[string]*System{"with namespaces": nil, "by Landlock alone": needSimple(t)} {
			t.Run(system+"/"+c.name, func(t *testing.T) {
				h := newHideout(t, outsideTmp(t))
				c.grants = []string{"exec:sh:/bin/sh", "exec:env:/usr/bin/env"}
				h.hold(c, s)
			})
		}
	}
}

// TestPathThroughALinkOfThePlugin: a directory of the operator's PATH that is found by a link which the plugin ships or may change does not count.
func TestPathThroughALinkOfThePlugin(t *testing.T) {
	needNamespaces(t)
	for name, entry := range map[string]string{"shipped": "OWN/bin", "that it may change": "OWN/cache/bin"} {
		for system, s := range map[string]*System{"with namespaces": nil, "by Landlock alone": needSimple(t)} {
			t.Run(system+"/"+name, func(t *testing.T) {
				h := newHideout(t, outsideTmp(t))
				h.ship(map[string]string{"bin": "-> SECRET/bin", "cache/bin": "-> SECRET/bin", "run": "#!SECRET/bin/tool\n"})
				o := Options{Own: []string{h.own}, Grants: grants(t, h.expand("write:fs:OWN/cache")), Environ: []string{"PATH=" + h.expand(entry) + ":/usr/bin:/bin", "HOME=" + h.home}, System: s}
				r, err := newGroup(t).Run(t.Context(), proc.Spec{Path: h.own + "/run", Dir: h.own, Env: o.Environ, Box: New(o)}, proc.Call{})
				if err == nil || !strings.Contains(err.Error(), `add "exec:tool:`+h.secret) {
					t.Errorf("%v, %+v", err, r)
				}
			})
		}
	}
}

// mostMemory is what a start may cost the host; one takes less than 1 MiB.
const mostMemory = 64 << 20

// startsInTime starts a plugin, or not: the host must not hang.
func (h hideout) startsInTime(s proc.Spec) error {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	done := make(chan error, 1)
	g := proc.NewGroup(nil)
	go func() {
		_, err := g.Run(ctx, s, proc.Call{})
		done <- errors.Join(err, g.Close())
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(2 * patience):
		h.t.Error("the host hangs")
		return nil
	}
}

// TestOddFilesDoNotHoldTheHost: a file that cannot be read to its end, or at all, keeps the host neither waiting nor busy.
func TestOddFilesDoNotHoldTheHost(t *testing.T) {
	needNamespaces(t)
	fifo := func(name string) func(h hideout) {
		return func(h hideout) {
			if err := syscall.Mkfifo(filepath.Join(h.own, name), 0o755); err != nil {
				h.t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		ship  func(h hideout)
		grant string
	}{
		{"a named pipe as its program", nil, fifo("run"), "net:[]"},
		{"a named pipe as an interpreter", map[string]string{"run": "#!OWN/pipe\n"}, fifo("pipe"), "net:[]"},
		{"a named pipe as a loader", map[string]string{"run": "ELF OWN/pipe"}, fifo("pipe"), "net:[]"},
		{"a named pipe that exec: names", map[string]string{"run": "#!/bin/sh\n"}, fifo("pipe"), "exec:pipe:OWN/pipe"},
		{"a named pipe that env finds", map[string]string{"run": "#!/usr/bin/env -S PATH=OWN:/bin pipe\n"}, fifo("pipe"), "net:[]"},
		{"a terabyte of nothing as its program", nil, func(h hideout) { h.sparse("run", nil) }, "net:[]"},
		{"an ELF program with names without end", nil, func(h hideout) { h.sparse("run", elfSections(2, 1<<27)) }, "net:[]"},
		{"an ELF program with sections without end", nil, func(h hideout) { h.sparse("run", elfSections(0, 1<<21)) }, "net:[]"},
		{"an ELF program with too many program headers", nil, func(h hideout) { h.sparse("run", elfHeaders(1<<13-1, 1<<14)) }, "net:[]"},
	} {
		for system, s := range map[string]*System{"with namespaces": nil, "by Landlock alone": needSimple(t)} {
			t.Run(system+"/"+c.name, func(t *testing.T) {
				h := newHideout(t, outsideTmp(t))
				h.ship(c.files)
				c.ship(h)
				o := Options{Own: []string{h.own}, Environ: []string{testPath}, Grants: grants(t, h.expand(c.grant)), System: s}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				t.Log(h.startsInTime(proc.Spec{Path: h.own + "/run", Dir: h.own, Env: []string{testPath}, Box: New(o)}))
				runtime.ReadMemStats(&after)
				if took := after.TotalAlloc - before.TotalAlloc; took > mostMemory {
					t.Errorf("the host took %d MiB for it", took>>20)
				}
			})
		}
	}
}

// sparse makes a file of a terabyte that begins with some bytes.
func (h hideout) sparse(name string, head []byte) {
	h.t.Helper()
	path := filepath.Join(h.own, name)
	write(h.t, path, string(head), 0o755)
	if err := os.Truncate(path, 1<<40); err != nil {
		h.t.Skipf("no sparse files here: %v", err)
	}
}

// elfSections is the head of an ELF file that has so many sections, the second of which is so large and has their names. Where there is none, the size
// is how many there are.
func elfSections(count uint16, size uint64) []byte {
	const headerSize, sectionSize = 64, 64
	b := make([]byte, headerSize+2*sectionSize)
	copy(b, "\x7fELF\x02\x01\x01")
	le := binary.LittleEndian
	le.PutUint16(b[16:], 2)  // an executable
	le.PutUint16(b[18:], 62) // for amd64
	le.PutUint32(b[20:], 1)
	le.PutUint64(b[40:], headerSize) // e_shoff
	le.PutUint16(b[52:], headerSize)
	le.PutUint16(b[54:], 56)
	le.PutUint16(b[58:], sectionSize)
	le.PutUint16(b[60:], count)
	section := b[headerSize:]
	if count == 0 {
		le.PutUint64(section[32:], size)
		return b
	}
	le.PutUint16(b[62:], 1)
	section = section[sectionSize:]
	le.PutUint32(section[4:], 3) // SHT_STRTAB
	le.PutUint64(section[24:], headerSize)
	le.PutUint64(section[32:], size)
	return b
}

// elfHeaders is the head of one that has so many program headers of so many bytes.
func elfHeaders(count, size uint16) []byte {
	b := elfSections(0, 0)
	clear(b[40:48])
	le := binary.LittleEndian
	le.PutUint64(b[32:], 64)
	le.PutUint16(b[54:], size)
	le.PutUint16(b[56:], count)
	return b
}

// TestOwnPlacesWithNestedGrants: however the grants around Patchbay's places lie in each other, and in whatever order, none of the directories on the
// way to one can be moved, and no link on the way can be changed.
func TestOwnPlacesWithNestedGrants(t *testing.T) {
	needNamespaces(t)
	const move = "mv .config x; mkdir -p .config/patchbay; put .config/patchbay/config.toml; mv .local/share x; mkdir -p .local/share/plugins/p; put .local/share/plugins/p/run; echo done"
	for _, order := range [][]string{{"D/.config", "D", "D/.local/share"}, {"D", "D/.config", "D/.local/share"}, {"D/.local/share", "D/.config", "D/.local", "D"}} {
		for _, all := range []bool{false, true} {
			t.Run(fmt.Sprint(order, all), func(t *testing.T) {
				dir := outsideTmp(t)
				var texts []string
				for _, path := range order {
					texts = append(texts, "write:fs:"+strings.ReplaceAll(path, "D", dir))
				}
				o := Options{Guarded: ownHome(t, dir), Grants: grants(t, texts...), AnyProgram: true, ReadAll: all}
				s := sh(o, lookAround+"exec 2>/dev/null; "+move)
				s.Env = []string{testPath, "D=" + dir}
				expect(t, s, "-\n-\ndone")
				for path, want := range map[string]string{"/.config/patchbay/config.toml": "config", "/.local/share/plugins/p/run": "run"} {
					if text, _ := os.ReadFile(dir + path); string(text) != want {
						t.Errorf("%s is %q now", path, text)
					}
				}
			})
		}
	}
	t.Run("a link in one of them, and its target in another", func(t *testing.T) {
		dir, dotfiles := outsideTmp(t), outsideTmp(t)
		guarded := ownHome(t, dir)
		if err := os.Rename(dir+"/.config", dotfiles+"/config"); err != nil {
			t.Fatal(err)
		}
		link(t, dotfiles+"/config", dir+"/.config")
		for _, texts := range [][]string{{"write:fs:" + dotfiles, "write:fs:" + dir}, {"write:fs:" + dir, "write:fs:" + dotfiles}} {
			if err := startError(t, sh(Options{Guarded: guarded, Grants: grants(t, texts...)}, ":")); !strings.Contains(err.Error(), "it may change the link "+dir+"/.config") {
				t.Error(err)
			}
		}
	})
}

// TestHiddenPlacesThatComeLater: what is hidden stays so when the operator makes it, or replaces it, while the plugin runs.
func TestHiddenPlacesThatComeLater(t *testing.T) {
	needNamespaces(t)
	for _, grant := range []string{"read:fs:D", "write:fs:D", "read:fs:D/.config", "read:fs:D/.config/patchbay"} {
		for _, c := range []struct{ name, before, file string }{
			{"a secret that was replaced", "old", "/.config/patchbay/secrets.toml"},
			{"a secret that was not there", "", "/.config/patchbay/secrets.toml"},
			{"what is kept, where there was nothing", "", "/.local/state/patchbay/log"},
		} {
			for place, home := range map[string]func(t *testing.T) string{"below a home": outsideTmp, "below /tmp": func(t *testing.T) string { return t.TempDir() }} {
				t.Run(grant+"/"+c.name+"/"+place, func(t *testing.T) {
					dir := home(t)
					guarded := ownHome(t, dir)
					if err := errors.Join(os.RemoveAll(dir+"/.local/state"), os.Remove(dir+"/.config/patchbay/secrets.toml")); err != nil {
						t.Fatal(err)
					}
					if c.before != "" {
						write(t, dir+c.file, c.before, 0o600)
					}
					o := Options{Guarded: guarded, Grants: grants(t, strings.ReplaceAll(grant, "D", dir)), AnyProgram: true}
					s := sh(o, "echo up; read go; cat "+dir+c.file+" 2>/dev/null; cat "+dir+"/.config/patchbay/config.toml")
					g := newGroup(t)
					p := started(t, g, s)
					write(t, dir+c.file+".new", secretText, 0o600)
					if err := os.Rename(dir+c.file+".new", dir+c.file); err != nil {
						t.Fatal(err)
					}
					if _, err := p.Stdin().WriteString("go\n"); err != nil {
						t.Fatal(err)
					}
					said, err := io.ReadAll(p.Stdout())
					if err != nil || string(said) != "config" {
						t.Errorf("it said %q, %v", said, err)
					}
				})
			}
		}
	}
}

// TestFilesOfItsOwnInTheOpen: a file of Patchbay's in a directory that is not Patchbay's cannot be covered for good where the plugin may
// change that directory, since whoever replaces the file removes what lies over it.
func TestFilesOfItsOwnInTheOpen(t *testing.T) {
	needNamespaces(t)
	dir := outsideTmp(t)
	write(t, dir+"/other", "other", 0o644)
	write(t, dir+"/patchbay.toml", secretText, 0o600)
	for _, c := range []struct {
		name, grant string
		place       Place
		want        string // what it prints; or in the refusal
	}{
		{"a configuration around which it may write", "write:fs:" + dir, Place{Path: dir + "/patchbay.toml"}, "refused: it may change " + dir},
		{"a hidden one around which it may write", "write:fs:" + dir, Place{Path: dir + "/patchbay.toml", Hidden: true}, "refused: it may change " + dir},
		{"one that is not there, and hidden", "write:fs:" + dir, Place{Path: dir + "/new.toml", Hidden: true}, "refused: it may change " + dir},
		{"a hidden one that is not there, in a directory that is not", "read:fs:" + dir, Place{Path: dir + "/new/secrets.toml", Hidden: true}, "refused: where it is not there yet"},
		{"a hidden one around which it may read", "read:fs:" + dir, Place{Path: dir + "/patchbay.toml", Hidden: true}, "other"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := sh(Options{Guarded: []Place{c.place}, Grants: grants(t, c.grant), AnyProgram: true}, "cat "+dir+"/other "+dir+"/patchbay.toml 2>/dev/null; :")
			if want, refused := strings.CutPrefix(c.want, "refused: "); !refused {
				expect(t, s, c.want)
			} else if err := startError(t, s); !strings.Contains(err.Error(), want) {
				t.Error(err)
			}
		})
	}
}

// TestDirectoriesThatAManifestNames: HOME and TMPDIR of a manifest do not show what the operator's links say, or where they lead.
func TestDirectoriesThatAManifestNames(t *testing.T) {
	needNamespaces(t)
	for place, home := range map[string]func(t *testing.T) string{"below a home": outsideTmp, "below /tmp": func(t *testing.T) string { return t.TempDir() }} {
		for _, variable := range []string{"HOME", "TMPDIR"} {
			for _, target := range []string{"xq7z-pointee", "/tmp/xq7z-pointee"} {
				t.Run(fmt.Sprintf("%s/%s/absolute %t", place, variable, filepath.IsAbs(target)), func(t *testing.T) {
					h := newHideout(t, home(t))
					link(t, target, h.secret+"/pointer")
					s := sh(Options{Own: []string{h.own}, AnyProgram: true, Environ: []string{testPath, "HOME=" + h.home}},
						"readlink "+h.secret+"/pointer; ls /tmp /var/tmp "+h.secret+" 2>/dev/null; find / -xdev -lname '*xq7z*' 2>/dev/null; echo $HOME; :")
					s.Env = []string{variable + "=" + h.secret + "/pointer", testPath}
					if said := output(t, s); strings.Contains(said, "xq7z") {
						t.Errorf("it learnt %s", said)
					}
				})
			}
		}
	}
}

// TestShimToolsRunNothingOfThePlugin: the tool behind a shim runs outside, in the plugin's directory, and finds none of the plugin's programs, whatever the
// operator's PATH says.
func TestShimToolsRunNothingOfThePlugin(t *testing.T) {
	needNamespaces(t)
	for name, entry := range map[string]string{"the working directory": ".", "an empty entry": "", "a shipped directory": "OWN/bin", "a directory that it may change": "OWN/cache",
		"a link among its files": "HOME/link", "a link to a name with a colon": "HOME/colon"} {
		t.Run(name, func(t *testing.T) {
			h := newHideout(t, outsideTmp(t))
			root := h.home + "/.pyenv"
			link(t, h.own+"/bin", h.home+"/link")
			write(t, h.home+"/x:bin/none", "", 0o755)
			link(t, h.home+"/x:bin", h.home+"/colon")
			write(t, root+"/shims/python", h.shim(root), 0o755)
			write(t, root+"/libexec/pyenv", "#!/bin/sh\npyenv-helper\necho $PYENV_ROOT/versions/1/bin/python\n", 0o755)
			write(t, root+"/versions/1/bin/python", "#!/bin/sh\necho real\n", 0o755)
			evil := "#!/bin/sh\necho ran >" + h.marker + "\n"
			h.ship(map[string]string{"run": "#!/usr/bin/env python\n", "pyenv-helper": evil, "bin/pyenv-helper": evil, "cache/pyenv-helper": evil})
			environ := []string{"PATH=" + h.expand(entry) + ":" + root + "/shims:/usr/bin:/bin", "HOME=" + h.home}
			o := Options{Own: []string{h.own}, Environ: environ, Grants: grants(t, h.expand("write:fs:OWN/cache"))}
			expect(t, proc.Spec{Path: h.own + "/run", Dir: h.own, Env: environ, Box: New(o)}, "real")
			if _, err := os.Stat(h.marker); err == nil {
				t.Error("code of the plugin ran outside")
			}
		})
	}
}

// TestTheListOfTreesIsWhole: whatever is mounted inside, the list of trees has it; without namespaces, whatever may be touched.
func TestTheListOfTreesIsWhole(t *testing.T) {
	needNamespaces(t)
	dir, below := outsideTmp(t), t.TempDir()
	guarded := append(ownHome(t, dir), ownHome(t, below)...)
	write(t, dir+"/.local/share/plugins/p/file", "file", 0o644)
	for name, texts := range map[string][]string{"nothing": nil, "reading": {"read:fs:" + dir}, "writing": {"write:fs:" + dir}, "below /tmp": {"read:fs:" + below}, "writing below /tmp": {"write:fs:" + below},
		"a program": {"exec:sh:/bin/sh"}, "the network": {"net:*"}} {
		t.Run(name, func(t *testing.T) {
			var trees []Tree
			o := Options{Own: []string{"/var/lib/dpkg"}, Guarded: guarded, Grants: grants(t, texts...), AnyProgram: true, OnPlan: func(list []Tree) { trees = list }}
			for _, at := range strings.Fields(output(t, sh(o, "while read a b c d at rest; do echo $at; done </proc/self/mountinfo"))) {
				at = strings.TrimPrefix(at, "/outside")
				known := func(tree Tree) bool { return within(at, tree.Path) }
				made := []string{"/", "/proc/keys", "/proc/key-users", dir + "/.config/patchbay", below + "/.config/patchbay"}
				if !slices.ContainsFunc(trees, known) && !slices.Contains(made, at) {
					t.Errorf("%s is mounted, and not in the list", at)
				}
			}
		})
	}
	t.Run("by Landlock alone", func(t *testing.T) {
		var trees []Tree
		o := Options{System: needSimple(t), Grants: grants(t, "read:fs:"+dir+"/.config/other"), AnyProgram: true, OnPlan: func(list []Tree) { trees = list }}
		s := sh(o, "for f in /etc/passwd /etc/hosts $HOME/x /proc/1/stat /tmp /var/tmp /dev/shm; do ls $f >/dev/null 2>&1 && echo $f; done; echo x >$HOME/x && echo $HOME")
		for _, path := range strings.Fields(output(t, s)) {
			known := func(tree Tree) bool { return within(path, tree.Path) }
			if !slices.ContainsFunc(trees, known) {
				t.Errorf("%s can be seen, and is not in the list", path)
			}
		}
		if i := slices.IndexFunc(trees, func(tree Tree) bool { return tree.Because == BecauseMemory }); i >= 0 {
			t.Errorf("%v is in the list, and not there", trees[i])
		}
	})
}

// TestDeepDirectoriesOfAPlugin: what a plugin leaves in its own directory on disk is removed, however deep it is, and does not cost the host its
// descriptors. What a link in it leads to stays.
func TestDeepDirectoriesOfAPlugin(t *testing.T) {
	outside, private := t.TempDir(), t.TempDir()+"/private"
	write(t, outside+"/kept", "kept", 0o600)
	deepTree(t, private, 3000, outside)
	var most atomic.Int64
	stop, counting := make(chan bool), sync.WaitGroup{}
	counting.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Microsecond):
				open, _ := os.ReadDir("/proc/self/fd")
				most.Store(max(most.Load(), int64(len(open))))
			}
		}
	})
	s := &session{box: New(Options{}), private: private}
	s.over()
	close(stop)
	counting.Wait()
	if _, err := os.Lstat(private); err == nil {
		t.Error("it is left")
	}
	if _, err := os.Stat(outside + "/kept"); err != nil {
		t.Error(err)
	}
	if most.Load() > 500 {
		t.Errorf("the host had %d descriptors open", most.Load())
	}
}

// deepTree makes directories in each other, with files, links, and names that are numbers beside them.
func deepTree(t *testing.T, path string, depth int, target string) {
	t.Helper()
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	at, err := os.OpenRoot(path)
	for n := range depth {
		if err == nil {
			err = errors.Join(at.Mkdir("d", 0o700), at.Mkdir(fmt.Sprint(n), 0o700), at.WriteFile("f", nil, 0o600), at.Symlink(target, "link"))
		}
		if err != nil {
			t.Fatal(err)
		}
		inner, openErr := at.OpenRoot("d")
		err = errors.Join(openErr, at.Close())
		at = inner
	}
	if err := errors.Join(err, at.Close()); err != nil {
		t.Fatal(err)
	}
}
