package sandbox

import (
	"os"
	"strings"
	"testing"
)

// ownHome is a home with Patchbay's places in it, one of which is not there yet.
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

// TestPatchbaysOwnPlaces: no grant opens them, and a grant around them leaves them as they are.
func TestPatchbaysOwnPlaces(t *testing.T) {
	needNamespaces(t)
	for _, c := range []struct {
		rule, grant string
		script      string
		want        string // what the script prints; or what the refusal says
		all         bool
	}{
		{"writing to one is refused", "write:fs:D/.config/patchbay", "", "which is Patchbay's own", false},
		{"writing within one is refused", "write:fs:D/.config/patchbay/new", "", "which is Patchbay's own", false},
		{"writing among the plugins is refused", "write:fs:D/.local/share/plugins/p", "", "which is Patchbay's own", false},
		{"reading a secret is refused", "read:fs:D/.config/patchbay/secrets.toml", "", "which is Patchbay's own", false},
		{"reading what is kept is refused", "read:fs:D/.local/state/patchbay", "", "which is Patchbay's own", false},
		{"reading the configuration shows no secret", "read:fs:D/.config/patchbay", "see .config/patchbay/config.toml; see .config/patchbay/secrets.toml", "config\n-", false},
		{"reading around them shows no secret", "read:fs:D", "see .config/patchbay/config.toml; see .config/patchbay/secrets.toml; see .local/state/patchbay/log; see .config/other/file",
			"config\n-\n-\nother", false},
		{"writing around them", "write:fs:D", "put .config/patchbay/config.toml; put .config/patchbay/new; put .local/share/plugins/new; put .local/share/plugins/p/run; put .config/other/new; put new; " +
			"see .config/patchbay/config.toml; see .config/patchbay/secrets.toml; see .local/state/patchbay/log", "-\n-\n-\n-\nput\nput\nconfig\n-\n-", false},
		{"moving them away", "write:fs:D", "mv .config/patchbay x; mv .config x; mv .local/share/plugins y; mv .local y; mv .local/state z; mkdir -p .config/patchbay; put .config/patchbay/config.toml; " +
			"rm -rf .config/patchbay .local/state; see .config/patchbay/config.toml; echo done", "-\nconfig\ndone", false},
		{"making one that is not there", "write:fs:D", "mkdir -p .config/dotagent/agents.d/evil; put .config/dotagent/agents.d/evil/agent.toml; mv .config/dotagent x; mv .config/dotagent/agents.d x; echo done", "-\ndone", false},
		{"writing around them where everything may be read", "write:fs:D", "put .config/patchbay/new; put .local/share/plugins/new; put new; see .config/patchbay/secrets.toml; mv .config x; see .config/patchbay/config.toml",
			"-\n-\nput\n-\nconfig", true},
		{"reading everything shows no secret", "net:[]", "see .config/patchbay/config.toml; see .config/patchbay/secrets.toml; see .local/state/patchbay/log", "config\n-\n-", true},
	} {
		for place, dir := range map[string]string{"below a home": outsideTmp(t), "below /tmp": t.TempDir()} {
			t.Run(c.rule+"/"+place, func(t *testing.T) {
				if c.all && strings.HasPrefix(dir, "/tmp") && !strings.HasPrefix(c.grant, "write") {
					t.Skip("there is nothing of /tmp in sight")
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
					t.Errorf("what is kept is %q", text)
				}
			})
		}
	}
	t.Run("a link by which one is found cannot be changed", func(t *testing.T) {
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
	t.Run("what the host lends may be written", func(t *testing.T) {
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
		s := sh(Options{Guarded: guarded, Grants: grants(t, "read:fs:"+dir+"/.config/other"), System: system}, "read line <"+dir+"/.config/other/file; echo $line")
		expect(t, s, "other")
	})
}
