package pluginhost_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// keeper installs a kaged plugin in a directory. Its method "tell" returns what the plugin was
// given: the secrets of its initialize request, the variable TOKEN, and the value of k in its
// storage. If k has no value, the plugin first stores the name of its directory there.
func (h testHome) keeper(dir, name string, more ...string) {
	h.t.Helper()
	h.write(".local/share/kaged/plugins/"+dir+"/manifest.yaml", "name: "+name+`
version: 1.0.0
kaged_api: 1
description: keeps
command: ["./run"]
methods: [`+name+`.tell]
capabilities: ["kaged:storage:read", "kaged:storage:write"]
system_config_schema: {type: object, properties: {key: {type: string}}}
`+strings.Join(more, "\n"), 0o644)
	h.write(".local/share/kaged/plugins/"+dir+"/run", `#!/bin/sh
secret=none
ask() { echo '{"jsonrpc":"2.0","id":"mine","method":"kaged.storage.'$1'","params":'$2'}'; IFS= read -r line; }
while IFS= read -r line; do
  id=${line##*'"id":'}; id=${id%%[!0-9]*}
  case $line in
  *'"initialized"'*) continue ;;
  *'"initialize"'*)
    case $line in *'"key":"secret"'*) secret=secret ;; esac
    r='{"name":"`+name+`","version":"1.0.0","api_version":1,"methods":["`+name+`.tell"],"notifications":[],"capabilities_used":[]}' ;;
  *.tell*)
    tell=$id
    ask get '{"key":"k"}'
    case $line in
    *'"value":null'*) ask put '{"key":"k","value":"`+dir+`"}'; kept=`+dir+` ;;
    *'"value":"'*) kept=${line##*'"value":"'}; kept=${kept%%'"'*} ;;
    *) kept=refused ;;
    esac
    id=$tell; r='"'$secret' '${TOKEN:-none}' '$kept'"' ;;
  *) r='{}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done
`, 0o755)
}

// tell returns what a keeper was given, as "secret variable stored".
func tell(t *testing.T, host *pluginhost.Host, plugin, name string) string {
	t.Helper()
	raw, err := host.CallMethod(t.Context(), plugin, name+".tell", nil)
	if err != nil {
		t.Fatalf("%s: %v; %s", plugin, err, states(host))
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		t.Fatal(err)
	}
	return text
}

// secrets writes secrets.toml.
func (h testHome) secrets(text string) { h.write(".config/patchbay/secrets.toml", text, 0o600) }

// tokened returns the options of a host whose environment has a token.
func (h testHome) tokened() *pluginhost.Options {
	o := h.options()
	o.Environ = append(o.Environ, "TOKEN=token")
	return o
}

// TestGrantsGoByThePlace: secrets, variables and storage go to the plugin whose directory has the
// name.
func TestGrantsGoByThePlace(t *testing.T) {
	const gifts, secret = "env = [\"TOKEN\"]\n", "key = \"secret\"\n"
	for _, c := range []struct {
		rule, config, secrets string
		dirs                  map[string]string // directory to manifest name
		scaffold              []string          // files of scaffold plugins
		ask, name, want       string
	}{
		{rule: "the directory has the name", config: "[plugins.notes]\n" + gifts, secrets: "[plugins.notes]\n" + secret,
			dirs: map[string]string{"notes": "notes"}, ask: "notes", name: "notes", want: "secret token notes"},
		{rule: "the plugin only gives itself the name", config: "[plugins.notes]\n" + gifts, secrets: "[plugins.notes]\n" + secret,
			dirs: map[string]string{"evil": "notes"}, ask: "notes", name: "notes", want: "none none evil"},
		{rule: "the directory's name, if the plugin calls itself otherwise", config: "[plugins.evil]\n" + gifts, secrets: "[plugins.evil]\n" + secret,
			dirs: map[string]string{"evil": "notes"}, ask: "evil", name: "notes", want: "secret token evil"},
		{rule: "the dialect in front", config: "[plugins.\"kaged:notes\"]\n" + gifts, secrets: "[plugins.\"kaged:notes\"]\n" + secret,
			dirs: map[string]string{"notes": "notes"}, scaffold: []string{"notes"}, ask: "kaged:notes", name: "notes", want: "secret token notes"},
		{rule: "the dialect in front of the name it calls itself", config: "[plugins.\"kaged:notes\"]\n" + gifts, secrets: "[plugins.\"kaged:notes\"]\n" + secret,
			dirs: map[string]string{"evil": "notes"}, ask: "notes", name: "notes", want: "none none evil"},
		{rule: "the name of a directory is DIALECT:NAME of another plugin: neither gets anything", config: "[plugins.\"kaged:notes\"]\n" + gifts, secrets: "[plugins.\"kaged:notes\"]\n" + secret,
			dirs: map[string]string{"notes": "notes", "kaged:notes": "other"}, ask: "other", name: "other", want: "none none kaged:notes"},
		{rule: "two places have the bare name: neither gets anything", config: "[plugins.notes]\n" + gifts, secrets: "[plugins.notes]\n" + secret,
			dirs: map[string]string{"notes": "notes"}, scaffold: []string{"notes"}, ask: "kaged:notes", name: "notes", want: "none none notes"},
		{rule: "one place has the name, another plugin gives itself the name: the first gets everything", config: "[plugins.notes]\n" + gifts, secrets: "[plugins.notes]\n" + secret,
			dirs: map[string]string{"notes": "notes", "anotes": "notes"}, ask: "notes", name: "notes", want: "secret token notes"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			h := newTestHome(t)
			for dir, name := range c.dirs {
				h.keeper(dir, name)
			}
			for _, file := range c.scaffold {
				h.scaffold(file, file, 500)
			}
			h.config("sandbox = \"off\"\n" + c.config)
			h.secrets(c.secrets)
			if got := tell(t, h.openWith(h.tokened()), c.ask, c.name); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestNamesCountForPluginsThatAreNotOpened: the plugin that a name grants something to does not
// depend on which plugins a command opens.
func TestNamesCountForPluginsThatAreNotOpened(t *testing.T) {
	h := newTestHome(t)
	h.keeper("notes", "notes")
	h.scaffold("notes", "notes", 500)
	h.config("sandbox = \"off\"\n[plugins.notes]\nenv = [\"TOKEN\"]\n")
	h.keeper("notes-draft", "notes")
	h.write("checkout/README", "", 0o644)
	h.move(".local/share/kaged/plugins/notes-draft", "checkout/notes")
	narrow := map[string]func(*pluginhost.Options){
		"a path": func(o *pluginhost.Options) {
			o.NoSearch, o.Paths = true, []string{filepath.Join(h.home, "checkout/notes")}
		},
		"needs": func(o *pluginhost.Options) {
			o.Needs = func(c pluginhost.Candidate) bool { return c.Dialect == "kaged" }
		},
		"dialects": func(o *pluginhost.Options) { o.Dialects = []string{"kaged"} },
	}
	for rule, apply := range narrow {
		t.Run(rule, func(t *testing.T) {
			o := h.tokened()
			apply(o)
			host := h.openWith(o)
			if got := states(host); got != "notes:ready" {
				t.Fatal(got)
			}
			if got := tell(t, host, "notes", "notes"); !strings.HasPrefix(got, "none none ") || rule == "a path" && got != "none none refused" {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestAPluginThatWasNamedIsFoundByItsName: a plugin opened by path is found by its name, even if
// the place of another plugin, which is not opened, has that name.
func TestAPluginThatWasNamedIsFoundByItsName(t *testing.T) {
	h := newTestHome(t)
	h.scaffold("notes", "notes", 500)
	h.scaffold("draft", "notes", 500)
	h.write("checkout/README", "", 0o644)
	h.move(".local/scaffold/plugins/draft", "checkout/draft")
	o := h.options()
	o.NoSearch, o.Paths = true, []string{filepath.Join(h.home, "checkout/draft")}
	host := h.openWith(o)
	for _, name := range []string{"notes", "draft"} {
		if d, err := host.Plugin(name); err != nil || d.State != dialect.Ready || filepath.Base(d.Path) != "draft" {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
}

// TestStorageIsNotShared: stored values stay with the plugin's directory, even if another plugin
// later calls itself by the same name.
func TestStorageIsNotShared(t *testing.T) {
	h := newTestHome(t)
	h.keeper("notes", "notes")
	host := h.open()
	if got := tell(t, host, "notes", "notes"); got != "none none notes" {
		t.Fatal(got)
	}
	if err := host.Close(); err != nil {
		t.Fatal(err)
	}
	plugins := filepath.Join(h.home, ".local/share/kaged/plugins")
	if err := os.RemoveAll(filepath.Join(plugins, "notes")); err != nil {
		t.Fatal(err)
	}
	h.keeper("evil", "notes")
	host = h.open()
	if got := tell(t, host, "notes", "notes"); got != "none none evil" {
		t.Errorf("another plugin with that name has %q", got)
	}
	if err := host.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(plugins, "evil")); err != nil {
		t.Fatal(err)
	}
	h.keeper("notes", "other")
	if got := tell(t, h.open(), "notes", "other"); got != "none none notes" {
		t.Errorf("the plugin in the directory has %q", got)
	}
}

// TestTwoDirectoriesWithOneName: two plugins of one dialect whose directories have the same name
// share nothing.
func TestTwoDirectoriesWithOneName(t *testing.T) {
	h := newTestHome(t)
	h.keeper("notes", "first")
	h.keeper("elsewhere/notes", "second")
	h.config("sandbox = \"off\"\n")
	o := h.tokened()
	o.Paths = []string{filepath.Join(h.home, ".local/share/kaged/plugins/elsewhere/notes")}
	host := h.openWith(o)
	for _, name := range []string{"first", "second"} {
		if got := tell(t, host, name, name); got != "none none refused" {
			t.Errorf("%s has %q", name, got)
		}
		if !slices.ContainsFunc(host.Doctor(), func(f pluginhost.Finding) bool { return f.Plugin == name && strings.Contains(f.Problem, "no storage") }) {
			t.Errorf("%s: %+v", name, host.Doctor())
		}
	}
}

// TestAnEnvironmentThatIsInheritedIsNarrowed: the plugin does not inherit the host's environment if
// a table has a list of variables, even if that table may not grant it anything.
func TestAnEnvironmentThatIsInheritedIsNarrowed(t *testing.T) {
	h := newTestHome(t)
	h.keeper("dot", "dot")
	h.write(".config/dotagent/plugins/dotagent-plugin-dot", `#!/bin/sh
case $1 in
info) echo '{"name":"dot","kinds":["preflight"]}' ;;
*) read -r input; echo '{"ok":true,"token":"'${TOKEN:-none}'"}' ;;
esac
`, 0o755)
	for config, want := range map[string]string{"": "token", "[plugins.dot]\nenv = [\"TOKEN\"]\n": "none", "[plugins.\"dotagent:dot\"]\nenv = [\"TOKEN\"]\n": "token"} {
		h.config("sandbox = \"off\"\n" + config + wiring)
		out, err := h.openWith(h.tokened()).Fire(t.Context(), hook.TurnBegin, json.RawMessage(`{"session_id":"s","working_dir":"/","user_text":"hi"}`))
		if err != nil || len(out.Steps) != 1 || !strings.Contains(string(out.Steps[0].Received), `"token":"`+want+`"`) {
			t.Errorf("%s: %+v, %v", config, out, err)
		}
	}
}

// TestRestrictionsApplyToAllWithTheName: a restriction applies to every plugin with the name, or
// the plugin is not started.
func TestRestrictionsApplyToAllWithTheName(t *testing.T) {
	const off, none = "enabled = false\n", "capabilities = []\n"
	for _, c := range []struct {
		rule, config string
		states       string // of the plugins keeper (kaged, in dir) and scaf (scaffold, in file)
		kaged        string // what the kaged plugin saw; "": it did not run
	}{
		{"disabled by the name it calls itself", "[plugins.keeper]\n" + off, "keeper:disabled scaf:ready", ""},
		{"disabled by its directory", "[plugins.dir]\n" + off, "keeper:disabled scaf:ready", ""},
		{"disabled by its directory with the dialect", "[plugins.\"kaged:dir\"]\n" + off, "keeper:disabled scaf:ready", ""},
		{"disabled by one name and enabled by another", "[plugins.dir]\nenabled = true\n[plugins.keeper]\n" + off, "keeper:disabled scaf:ready", ""},
		{"disabled by another dialect's name", "[plugins.\"scaffold:keeper\"]\n" + off, "keeper:ready scaf:ready", confined},
		{"disabled by a name that is known once it runs", "[plugins.scaf]\n" + off, "keeper:ready scaf:disabled", confined},
		{"confined by the name it calls itself", "[plugins.keeper]\n" + none, "keeper:ready scaf:ready", "nothing"},
		{"confined by its directory", "[plugins.dir]\n" + none, "keeper:ready scaf:ready", "nothing"},
		{"of two lists, only capabilities in both count", "[plugins.dir]\nGRANTS[plugins.keeper]\n" + none, "keeper:ready scaf:ready", "nothing"},
		{"the name it calls itself grants nothing that it has not declared", "[plugins.keeper]\nALL", "keeper:ready scaf:ready", confined},
		{"the name of its directory grants more than it has declared", "[plugins.dir]\nALL", "keeper:ready scaf:ready", free},
		{"confined by a name that is known once it runs", "[plugins.scaf]\n" + none, "keeper:ready scaf:broken", confined},
		{"limited by a name that is known once it runs", "[plugins.scaf.limits]\nopen_files = 50\n", "keeper:ready scaf:broken", confined},
		{"limited less by a name that is known once it runs", "[plugins.file.limits]\nopen_files = 40\n[plugins.scaf.limits]\nopen_files = 50\n", "keeper:ready scaf:ready", confined},
		{"confined more by its file", "[plugins.file]\n" + none + "[plugins.scaf]\nGRANTS", "keeper:ready scaf:ready", confined},
		{"confined less by its file", "[plugins.file]\nGRANTS[plugins.scaf]\n" + none, "keeper:ready scaf:broken", confined},
	} {
		t.Run(c.rule, func(t *testing.T) {
			h := confinable(t)
			h.lookers()
			h.move(".local/share/kaged/plugins/keeper", ".local/share/kaged/plugins/dir")
			h.move(".local/scaffold/plugins/scaf", ".local/scaffold/plugins/file")
			all := "capabilities = [\"read:fs:" + h.home + "/granted\", \"read:fs:" + h.home + "/secret\", \"write:fs:" + h.home + "/secret\", \"write:fs:" + h.home + "/out\"]\n"
			h.config(strings.NewReplacer("GRANTS", h.grants(), "ALL", all).Replace(c.config))
			o := h.options()
			o.Dialects = []string{"kaged", "scaffold"}
			host := h.openWith(o)
			if got := states(host); got != c.states {
				t.Fatalf("%s, want %s: %+v", got, c.states, host.Doctor())
			}
			if _, err := host.Fire(t.Context(), hook.SessionStart, json.RawMessage(`{"session_id":"s"}`)); err != nil {
				t.Fatal(err)
			}
			got := h.seen("kaged")
			if c.kaged == "nothing" && !strings.Contains(got, "no such file") || c.kaged != "nothing" && c.kaged != "" && got != c.kaged {
				t.Errorf("kaged saw %q, want %q", got, c.kaged)
			}
		})
	}
}

// move renames a file of a home.
func (h testHome) move(from, to string) {
	h.t.Helper()
	if err := os.Rename(filepath.Join(h.home, from), filepath.Join(h.home, to)); err != nil {
		h.t.Fatal(err)
	}
}

// TestABareNameOfTwoRestrictsBoth: a restriction under a name without dialect applies to both
// plugins whose directory or file has it.
func TestABareNameOfTwoRestrictsBoth(t *testing.T) {
	h := confinable(t)
	h.lookers()
	h.move(".local/scaffold/plugins/scaf", ".local/scaffold/plugins/keeper")
	o := h.options()
	o.Dialects = []string{"kaged", "scaffold"}
	h.config("[plugins.keeper]\nenabled = false\n")
	if got := states(h.openWith(o)); got != "keeper:disabled keeper:disabled" {
		t.Errorf("disabled: %s", got)
	}
	h.config("[plugins.keeper]\n" + h.grants("read:fs:"+h.home+"/secret", "write:fs:"+h.home+"/secret"))
	fireAll(t, h.openWith(o))
	if got := h.seen("kaged"); got != confined {
		t.Errorf("kaged got more than it declares: %q", got)
	}
	h.config("[plugins.keeper]\n" + h.grants())
	fireAll(t, h.openWith(o))
	if got := h.seen("scaffold"); got != confined {
		t.Errorf("scaffold is not confined: %q", got)
	}
}

// TestOtherSettingsGoByEitherName: settings under the name of the directory or file come before
// those under the name that the plugin calls itself.
func TestOtherSettingsGoByEitherName(t *testing.T) {
	h := newTestHome(t)
	h.write(".local/scaffold/plugins/file", `#!/bin/sh
while IFS= read -r line; do
  id=${line##*'"id":'}; id=${id%%[!0-9]*}
  printf '{"jsonrpc":"2.0","id":%s,"result":{"name":"real","hooks":["post_llm_response"],"tools":[]}}\n' "$id"
done
`, 0o755)
	for _, c := range []struct {
		rule, config string
		want         int
	}{
		{"the name it calls itself", "[plugins.real]\npriority = 1\n", 1},
		{"its file", "[plugins.file]\npriority = 2\n", 2},
		{"with the dialect", "[plugins.\"scaffold:real\"]\npriority = 3\n", 3},
		{"the name with the dialect comes first", "[plugins.\"scaffold:file\"]\npriority = 4\n[plugins.file]\npriority = 2\n", 4},
		{"the name of the file comes before the name it calls itself", "[plugins.file]\npriority = 2\n[plugins.real]\npriority = 1\n", 2},
		{"another dialect's", "[plugins.\"kaged:file\"]\npriority = 4\n", 500},
	} {
		t.Run(c.rule, func(t *testing.T) {
			h.config(c.config)
			if got := h.open().Plugins()[0].Priority; got != c.want {
				t.Errorf("priority %d, want %d", got, c.want)
			}
		})
	}
	for _, name := range []string{"real", "file", "scaffold:real", "scaffold:file"} {
		t.Run("connection of "+name, func(t *testing.T) {
			h.config("[[connect]]\nplugin = \"" + name + "\"\nhook = \"post_llm_response\"\npoint = \"turn.final\"\n")
			d, err := testHome{t, h.home}.open().Plugin(name)
			if err != nil || !slices.ContainsFunc(d.Wiring, func(w pluginhost.Wire) bool { return w.Connected }) {
				t.Errorf("%+v, %v", d, err)
			}
		})
	}
}
