package sandbox

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/patchbay-dev/patchbay/internal/proc"
)

// ownHome creates a home with Patchbay's places, one of which is missing.
func ownHome(t *testing.T, home string) []Place {
	t.Helper()
	write(t, home+"/.config/patchbay/config.toml", "config", 0o600)
	write(t, home+"/.config/patchbay/secrets.toml", "secret", 0o600)
	write(t, home+"/.config/other/file", "other", 0o600)
	write(t, home+"/.local/state/patchbay/log", "secret", 0o600)
	write(t, home+"/.local/share/plugins/p/run", "run", 0o700)
	return []Place{
		{Path: home + "/.config/patchbay"}, {Path: home + "/.config/patchbay/config.toml"},
		{Path: home + "/.config/patchbay/secrets.toml", Hidden: true}, {Path: home + "/.local/state/patchbay", Make: true, Hidden: true},
		{Path: home + "/.local/share/plugins"}, {Path: home + "/.config/dotagent/agents.d", Make: true},
	}
}

const lookAround = `see() { line=; read line 2>/dev/null <$1; echo "${line:--}"; }
put() { if { echo hi >$1; } 2>/dev/null; then echo put; else echo -; fi; }
cd $D; `

// TestPatchbaysOwnPlaces: no grant opens them, and a grant around them leaves them unchanged.
func TestPatchbaysOwnPlaces(t *testing.T) {
	needNamespaces(t)
	for _, c := range []struct {
		rule, grant string
		script      string
		want        string // the output of the script, or a part of the refusal
		all         bool
	}{
		{"writing to one is refused", "write:fs:D/.config/patchbay", "", "which is Patchbay's own", false},
		{"writing within one is refused", "write:fs:D/.config/patchbay/new", "", "which is Patchbay's own", false},
		{"writing among the plugins is refused", "write:fs:D/.local/share/plugins/p", "", "which is Patchbay's own", false},
		{"reading a secret is refused", "read:fs:D/.config/patchbay/secrets.toml", "", "which is Patchbay's own", false},
		{"reading stored data is refused", "read:fs:D/.local/state/patchbay", "", "which is Patchbay's own", false},
		{"reading the configuration shows no secret", "read:fs:D/.config/patchbay", "see .config/patchbay/config.toml; see .config/patchbay/secrets.toml", "config\n-", false},
		{"reading around them shows no secret", "read:fs:D", "see .config/patchbay/config.toml; see .config/patchbay/secrets.toml; see .local/state/patchbay/log; see .config/other/file",
			"config\n-\n-\nother", false},
		{"writing around them", "write:fs:D", "put .config/patchbay/config.toml; put .config/patchbay/new; put .local/share/plugins/new; put .local/share/plugins/p/run; put .config/other/new; put new; " +
			"see .config/patchbay/config.toml; see .config/patchbay/secrets.toml; see .local/state/patchbay/log", "-\n-\n-\n-\nput\nput\nconfig\n-\n-", false},
		{"moving them away", "write:fs:D", "mv .config/patchbay x; mv .config x; mv .local/share/plugins y; mv .local y; mv .local/state z; mkdir -p .config/patchbay; put .config/patchbay/config.toml; " +
			"rm -rf .config/patchbay .local/state; see .config/patchbay/config.toml; echo done", "-\nconfig\ndone", false},
		{"creating a place that does not exist", "write:fs:D", "mkdir -p .config/dotagent/agents.d/evil; put .config/dotagent/agents.d/evil/agent.toml; mv .config/dotagent x; mv .config/dotagent/agents.d x; echo done", "-\ndone", false},
		{"writing around them where everything may be read", "write:fs:D", "put .config/patchbay/new; put .local/share/plugins/new; put new; see .config/patchbay/secrets.toml; mv .config x; see .config/patchbay/config.toml",
			"-\n-\nput\n-\nconfig", true},
		{"reading everything shows no secret", "net:[]", "see .config/patchbay/config.toml; see .config/patchbay/secrets.toml; see .local/state/patchbay/log", "config\n-\n-", true},
	} {
		for place, dir := range map[string]string{"below a home": outsideTmp(t), "below /tmp": t.TempDir()} {
			t.Run(c.rule+"/"+place, func(t *testing.T) {
				if c.all && strings.HasPrefix(dir, "/tmp") && !strings.HasPrefix(c.grant, "write") {
					t.Skip("files below /tmp are not visible")
				}
				o := Options{Guarded: ownHome(t, dir), Grants: grants(t, strings.ReplaceAll(c.grant, "D", dir)), ReadAll: c.all, AnyProgram: true}
				s := sh(o, lookAround+"exec 2>/dev/null; "+c.script)
				s.Env = []string{testPath, "D=" + dir}
				if c.script == "" {
					if err := startError(t, s); !strings.Contains(err.Error(), c.want) {
						t.Errorf("%v", err)
					}
					return
				}
				expect(t, s, c.want)
				if text, _ := os.ReadFile(dir + "/.config/patchbay/config.toml"); string(text) != "config" {
					t.Errorf("outside it is %q", text)
				}
				if text, _ := os.ReadFile(dir + "/.local/state/patchbay/log"); string(text) != "secret" {
					t.Errorf("the stored file is %q", text)
				}
			})
		}
	}
	t.Run("a link on the way to a place cannot be changed", func(t *testing.T) {
		dir := outsideTmp(t)
		guarded := ownHome(t, dir)
		if err := os.Rename(dir+"/.config", dir+"/dotfiles"); err != nil {
			t.Fatal(err)
		}
		link(t, "dotfiles", dir+"/.config")
		if err := startError(t, sh(Options{Guarded: guarded, Grants: grants(t, "write:fs:"+dir)}, ":")); !strings.Contains(err.Error(), "it may change the link "+dir+"/.config") {
			t.Error(err)
		}
	})
	t.Run("below its own directory a plugin may write", func(t *testing.T) {
		dir := outsideTmp(t)
		own := dir + "/.local/share/plugins/p"
		o := Options{Guarded: ownHome(t, dir), Own: []string{own}, Grants: grants(t, "write:fs:"+own+"/cache")}
		expect(t, sh(o, "echo hi >"+own+"/cache/x && echo put"), "put")
	})
	t.Run("below its own directory it may not write if that contains one of the places", func(t *testing.T) {
		dir := outsideTmp(t)
		guarded := ownHome(t, dir)
		for _, grant := range []string{"write:fs:D/.config/patchbay", "write:fs:D/.config/patchbay/new", "read:fs:D/.config/patchbay/secrets.toml", "read:fs:D/.local/state/patchbay", "write:fs:D/.local/share/plugins/p"} {
			for name, o := range map[string]Options{"its own": {Own: []string{dir}}, "lent": {Lent: []string{dir}, ReadAll: true}} {
				o.Guarded, o.Grants = guarded, grants(t, strings.ReplaceAll(grant, "D", dir))
				if err := startError(t, sh(o, ":")); !strings.Contains(err.Error(), "which is Patchbay's own") {
					t.Errorf("%s, %s: %v", name, grant, err)
				}
			}
		}
	})
	t.Run("a directory that the host lends may be written", func(t *testing.T) {
		dir := outsideTmp(t)
		o := Options{Guarded: ownHome(t, dir), ReadAll: true, Lent: []string{dir + "/.local/state/patchbay/mine"}, Grants: grants(t, "write:fs:"+dir+"/.local/state/patchbay/mine")}
		expect(t, sh(o, "echo hi >"+dir+"/.local/state/patchbay/mine/x && echo put; ls "+dir+"/.local/state/patchbay"), "put\nmine")
	})
	t.Run("by Landlock alone", func(t *testing.T) {
		dir := outsideTmp(t)
		guarded, system := ownHome(t, dir), needSimple(t)
		for _, grant := range []string{"write:fs:" + dir, "read:fs:" + dir, "write:fs:" + dir + "/.config/patchbay"} {
			if err := startError(t, sh(Options{Guarded: guarded, Grants: grants(t, grant), System: system}, ":")); !strings.Contains(err.Error(), "Patchbay's own") {
				t.Errorf("%s: %v", grant, err)
			}
		}
		yielding := []Place{{Path: dir + "/project/.patchbay", Make: true, BestEffort: true}}
		write(t, dir+"/project/file", "", 0o644)
		expect(t, sh(Options{Guarded: yielding, Grants: grants(t, "write:fs:"+dir+"/project"), System: system}, "echo hi >"+dir+"/project/file && echo put"), "put")
		if exists(dir + "/project/.patchbay") {
			t.Error("something was created that cannot be covered")
		}
		s := sh(Options{Guarded: guarded, Grants: grants(t, "read:fs:"+dir+"/.config/other"), System: system}, "read line <"+dir+"/.config/other/file; echo $line")
		expect(t, s, "other")
	})
}

// TestOwnPlacesInSightWithoutAGrant: a place that must not be read is hidden even in directories
// that a plugin sees without a grant.
func TestOwnPlacesInSightWithoutAGrant(t *testing.T) {
	needNamespaces(t)
	const system = "/usr/share/zoneinfo" // every system has it, and nothing has to be written there
	if !exists(system + "/UTC") {
		t.Skip("there is no " + system + "/UTC to hide")
	}
	for place, dir := range map[string]string{"below a home": outsideTmp(t), "below /tmp": t.TempDir()} {
		write(t, dir+"/own/kept/secrets.toml", "secret", 0o644)
		write(t, dir+"/own/data", "data", 0o644)
		write(t, dir+"/tools/lib/kept/secrets.toml", "secret", 0o644)
		write(t, dir+"/tools/lib/code", "data", 0o644)
		write(t, dir+"/tools/bin/other", "", 0o644)
		copyFile(t, "/proc/self/exe", dir+"/tools/bin/env") // under this name it prints every file that is its argument
		shown := map[string]string{dir + "/own/kept/secrets.toml": "", dir + "/tools/lib/kept/secrets.toml": "", system + "/UTC": "", dir + "/own/data": "data", dir + "/tools/lib/code": "data"}
		for rule, hidden := range map[string][]string{
			"directories": {dir + "/own/kept", dir + "/tools/lib/kept", system},
			"files":       {dir + "/own/kept/secrets.toml", dir + "/tools/lib/kept/secrets.toml", system + "/UTC"},
		} {
			o := Options{Own: []string{dir + "/own"}, Environ: []string{"PATH=" + dir + "/tools/bin:/usr/bin:/bin", "HOME=" + dir + "/home"}}
			for _, path := range hidden {
				o.Guarded = append(o.Guarded, Place{Path: path, Hidden: true})
			}
			t.Run(place+"/"+rule, func(t *testing.T) {
				for path, want := range shown {
					r, err := newGroup(t).Run(t.Context(), proc.Spec{Path: dir + "/tools/bin/env", Args: []string{path}, Dir: dir + "/own", Env: o.Environ, Box: New(o)}, proc.Call{})
					if err != nil || strings.TrimSpace(string(r.Stdout)) != want {
						t.Errorf("%s: %v, %+v", path, err, r)
					}
				}
			})
			t.Run(place+"/"+rule+"/by Landlock alone", func(t *testing.T) {
				o := o
				o.System = needSimple(t)
				if err := startError(t, proc.Spec{Path: dir + "/tools/bin/env", Dir: dir + "/own", Env: o.Environ, Box: New(o)}); !strings.Contains(err.Error(), "which is Patchbay's own") {
					t.Error(err)
				}
			})
		}
	}
}

// TestPlacesThatAllUsersRead: a directory for the plugins of all users stays readable for them,
// even if Patchbay creates it because a plugin may write in its parent.
func TestPlacesThatAllUsersRead(t *testing.T) {
	needNamespaces(t)
	defer unix.Umask(unix.Umask(0o022))
	dir := t.TempDir()
	o := Options{Guarded: []Place{{Path: dir + "/lib/plugins", Make: true, Shared: true}, {Path: dir + "/own", Make: true}}, Grants: grants(t, "write:fs:"+dir)}
	expect(t, sh(o, "echo ran"), "ran")
	for path, mode := range map[string]os.FileMode{"/lib": 0o755, "/lib/plugins": 0o755, "/own": 0o700} {
		if info, err := os.Stat(dir + path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v, want %o", path, info, err, mode)
		}
	}
}

// TestReadingAroundPlacesThatAreNotThere: a plugin that may read around Patchbay's places starts if
// they are missing. They are created, so that it does not see what is put into them later.
func TestReadingAroundPlacesThatAreNotThere(t *testing.T) {
	needNamespaces(t)
	for place, dir := range map[string]string{"below a home": outsideTmp(t), "below /tmp": t.TempDir()} {
		t.Run(place, func(t *testing.T) {
			write(t, dir+"/notes", "notes", 0o644)
			own := dir + "/.config/patchbay"
			o := Options{Guarded: []Place{{Path: own, Make: true}, {Path: own + "/secrets.toml", Hidden: true}, {Path: own + "/data", Make: true, Hidden: true}}, Grants: grants(t, "read:fs:"+dir)}
			expect(t, sh(o, "read -r line <"+dir+"/notes; echo $line"), "notes")
			if info, err := os.Stat(own); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%v, %v", info, err)
			}
		})
	}
	t.Run("if only the administrator can create them", func(t *testing.T) {
		const own = "/usr/share/patchbay-test-none"
		if changeable(own) {
			t.Skip("this user can create it")
		}
		o := Options{Guarded: []Place{{Path: own, Make: true}, {Path: own + "/secrets.toml", Hidden: true}, {Path: own + "/data", Make: true, Hidden: true}}}
		expect(t, sh(o, "echo ran"), "ran")
	})
}
