package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// TestOwnPlacesWithNestedGrants: for any nesting and order of the grants around Patchbay's places,
// no directory on the way to one can be moved, and no link on the way can be changed.
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

// TestHiddenPlacesThatComeLater: a hidden place stays hidden if the operator creates or replaces it
// while the plugin runs.
func TestHiddenPlacesThatComeLater(t *testing.T) {
	needNamespaces(t)
	for _, grant := range []string{"read:fs:D", "write:fs:D", "read:fs:D/.config", "read:fs:D/.config/patchbay"} {
		for _, c := range []struct{ name, before, file string }{
			{"a secret that was replaced", "old", "/.config/patchbay/secrets.toml"},
			{"a secret that did not exist", "", "/.config/patchbay/secrets.toml"},
			{"stored data that did not exist before", "", "/.local/state/patchbay/log"},
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

// TestFilesOfItsOwnInTheOpen: a file of Patchbay's in a directory that is not Patchbay's cannot be
// covered if the plugin may change that directory, because replacing the file removes the cover.
func TestFilesOfItsOwnInTheOpen(t *testing.T) {
	needNamespaces(t)
	dir := outsideTmp(t)
	write(t, dir+"/other", "other", 0o644)
	write(t, dir+"/patchbay.toml", secretText, 0o600)
	for _, c := range []struct {
		name, grant string
		place       Place
		want        string // its output, or a part of the refusal
	}{
		{"a configuration in a writable directory", "write:fs:" + dir, Place{Path: dir + "/patchbay.toml"}, "refused: it may change " + dir},
		{"a hidden file in a writable directory", "write:fs:" + dir, Place{Path: dir + "/patchbay.toml", Hidden: true}, "refused: it may change " + dir},
		{"a missing hidden file in a writable directory", "write:fs:" + dir, Place{Path: dir + "/new.toml", Hidden: true}, "refused: it may change " + dir},
		{"a missing hidden file in a missing directory", "read:fs:" + dir, Place{Path: dir + "/new/secrets.toml", Hidden: true}, "refused: to hide Patchbay's files in it"},
		{"a hidden file in a readable directory", "read:fs:" + dir, Place{Path: dir + "/patchbay.toml", Hidden: true}, "other"},
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

// TestAliases: a place has another path for each further mount of its file system.
func TestAliases(t *testing.T) {
	mounts := []mounted{{"8:1", "/", "/"}, {"0:5", "/", "/proc"}, {"8:2", "/", "/home"}, {"8:2", "/ann", "/mnt/ann"}, {"8:2", "/ann/.config/patchbay/agents", "/srv/agents"}, {"8:2", "/bob", "/mnt/bob"}, {"8:1", "/", "/mnt/root"}}
	for path, want := range map[string][]string{
		"/home/ann/.config/patchbay":        {"/mnt/ann/.config/patchbay", "/srv/agents"},
		"/home/ann/.config/patchbay/agents": {"/mnt/ann/.config/patchbay/agents", "/srv/agents"},
		"/home/bob":                         {"/mnt/bob"},
		"/no/such/place":                    {"/mnt/root/no/such/place"},
		"/proc/none":                        nil,
	} {
		if got := aliases(path, mounts); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// TestOwnPlacesByAnotherMount: a grant that reaches Patchbay's places by a bind mount of the
// operator is refused.
func TestOwnPlacesByAnotherMount(t *testing.T) {
	needNamespaces(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can mount")
	}
	dir, other := outsideTmp(t), outsideTmp(t)
	guarded := ownHome(t, dir)
	for _, name := range []string{"/home", "/config"} {
		if err := os.Mkdir(other+name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for at, source := range map[string]string{"/home": dir, "/config": dir + "/.config/patchbay"} {
		if err := syscall.Mount(source, other+at, "", syscall.MS_BIND, ""); err != nil {
			t.Skipf("no bind mounts here: %v", err)
		}
		t.Cleanup(func() { plugtest.Unmount(t, other+at) })
	}
	for _, grant := range []string{"write:fs:D/home", "write:fs:D/home/.config", "write:fs:D/home/.config/patchbay", "write:fs:D/config/made", "write:fs:D/config", "write:fs:D", "read:fs:D/home", "read:fs:D/config", "read:fs:D/home/.local/state/patchbay"} {
		if err := startError(t, sh(Options{Guarded: guarded, Grants: grants(t, strings.ReplaceAll(grant, "D", other))}, ":")); !strings.Contains(err.Error(), "which is Patchbay's own and can also be reached at") {
			t.Errorf("%s: %v", grant, err)
		}
	}
	if _, err := os.Lstat(dir + "/.config/patchbay/made"); err == nil {
		t.Error("a directory was created in one of the places")
	}
	expect(t, sh(Options{Guarded: guarded, Grants: grants(t, "read:fs:"+other+"/home/.config/other"), AnyProgram: true}, "cat "+other+"/home/.config/other/file"), "other")
}

// TestPlacesThatCoincide: if one directory is several of Patchbay's places, for example because all
// XDG variables are the same, the strictest rule counts.
func TestPlacesThatCoincide(t *testing.T) {
	needNamespaces(t)
	dir := outsideTmp(t)
	own, other := dir+"/patchbay", dir+"/linked"
	write(t, own+"/engine/kept", secretText, 0o600)
	write(t, own+"/secrets.toml", secretText, 0o600)
	write(t, dir+"/note", "note", 0o600)
	link(t, own, other)
	shown, secrets, kept := Place{Path: own, Make: true}, Place{Path: own + "/secrets.toml", Hidden: true}, Place{Path: own, Make: true, Hidden: true}
	for name, places := range map[string][]Place{
		"the hidden one last":      {shown, secrets, kept},
		"the hidden one first":     {kept, shown, secrets},
		"without a hidden file":    {shown, kept},
		"twice, and no file":       {kept, kept, shown},
		"under the name of a link": {shown, secrets, {Path: other, Make: true, Hidden: true}},
	} {
		for _, grant := range []string{"read:fs:D", "write:fs:D"} {
			t.Run(name+"/"+grant, func(t *testing.T) {
				if strings.Contains(name, "link") && strings.HasPrefix(grant, "write") {
					t.Skip("a link that it may change is refused")
				}
				o := Options{Guarded: places, Grants: grants(t, strings.ReplaceAll(grant, "D", dir)), AnyProgram: true}
				expect(t, sh(o, "cat "+dir+"/note; cat "+own+"/engine/kept "+own+"/secrets.toml "+other+"/engine/kept 2>/dev/null; ls "+own+"; echo x 2>/dev/null >"+own+"/new; :"), "note")
				if _, err := os.Lstat(own + "/new"); err == nil {
					t.Error("the plugin wrote there")
				}
			})
		}
	}
}

// TestWorkingInAHiddenPlace: a hidden place stays hidden if it is the working directory of a
// program, or named in its manifest.
func TestWorkingInAHiddenPlace(t *testing.T) {
	needNamespaces(t)
	for place, dir := range map[string]string{"below a home": outsideTmp(t), "below /tmp": t.TempDir()} {
		write(t, dir+"/state/kept", secretText, 0o644)
		write(t, dir+"/config/secrets.toml", secretText, 0o644)
		guarded := []Place{{Path: dir + "/config", Make: true}, {Path: dir + "/config/secrets.toml", Hidden: true}, {Path: dir + "/state", Make: true, Hidden: true}}
		for _, all := range []bool{false, true} {
			for _, work := range []string{"/state", "/config", "/state/."} {
				t.Run(fmt.Sprint(place, work, all), func(t *testing.T) {
					s := sh(Options{Guarded: guarded, ReadAll: all, AnyProgram: true}, "cat kept secrets.toml "+dir+"/state/kept "+dir+"/config/secrets.toml 2>/dev/null; :")
					s.Dir = dir + work
					s.Env = append([]string{"HOME=" + dir + work, "TMPDIR=" + dir + work}, s.Env...)
					expect(t, s, "")
				})
			}
		}
	}
}
