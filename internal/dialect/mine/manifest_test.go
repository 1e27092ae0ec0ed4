package mine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// full is a manifest with every key.
const full = `
[plugin]
name = "obsidian-sync"
version = "0.3.1"
description = "keeps a vault in step"
author = "someone"
license = "MIT"
protocol_version = "1.0.0"
min_mine_version = "0.2.0"
entrypoint = "bin/sync"

[[hooks]]
command = "todo.*"
stage = "preexec"
mode = "transform"
timeout = "1m30s"

[[hooks]]
command = "*"
stage = "notify"
mode = "notify"

[[commands]]
name = "sync"
description = "syncs"
args = "[--vault NAME]"

[permissions]
network = true
filesystem = ["~/notes", "/tmp"]
store = true
config_read = true
config_write = true
env_vars = ["VAULT", "OBSIDIAN_TOKEN"]
`

func TestManifest(t *testing.T) {
	m, problems, warnings := parseManifest("m", []byte(full))
	if len(problems)+len(warnings) > 0 {
		t.Fatalf("problems %v, warnings %v", problems, warnings)
	}
	if m.entrypoint != "bin/sync" || m.protocolVersion != "1.0.0" {
		t.Errorf("%+v", m)
	}
	if want := []registration{{"*", "notify", 30 * time.Second, true}, {"todo.*", "preexec", 90 * time.Second, false}}; !slices.Equal(m.hooks, want) {
		t.Errorf("hooks %+v", m.hooks)
	}
	info := m.info()
	if info.Name != "obsidian-sync" || info.Version != "0.3.1" || info.Description != "keeps a vault in step" ||
		fmt.Sprint(info.Hooks) != "[preexec notify]" || fmt.Sprint(info.Commands) != "[sync]" || info.Priority != 500 {
		t.Errorf("info %+v", info)
	}
	if got := strings.Join(info.Capabilities, " "); got != "network store config_read config_write filesystem:~/notes filesystem:/tmp env:VAULT env:OBSIDIAN_TOKEN" {
		t.Errorf("capabilities %s", got)
	}
}

func TestManifestDefaults(t *testing.T) {
	m, problems, warnings := parseManifest("m", []byte(manifestOf("tags", everyStage)))
	if len(problems)+len(warnings) > 0 {
		t.Fatalf("problems %v, warnings %v", problems, warnings)
	}
	if m.entrypoint != "mine-plugin-tags" {
		t.Errorf("entrypoint %s", m.entrypoint)
	}
	for _, h := range m.hooks {
		want := 5 * time.Second // docs/protocols/mine.md, row M41
		if h.stage == stageNotify {
			want = 30 * time.Second
		}
		if h.timeout != want {
			t.Errorf("%+v", h)
		}
	}
}

// TestEveryProblemAtOnce: all problems are reported with line and column, in the order of the file.
func TestEveryProblemAtOnce(t *testing.T) {
	_, problems, warnings := parseManifest("m.toml", []byte(`colour = "blue"
[plugin]
name = "Not Kebab"
version = 1
protocol_version = "2.0.0"
entrypoint = "../../bin/sh"
verzion = "1.0"

[[hooks]]
command = "todo.*"
stage = "preexec"
mode = "notify"

[[hooks]]
stage = "afterwards"
mode = "transfrom"
timeout = "5"

[[commands]]
description = "no name"

[permissions]
network = "yes"
env_vars = ["GOOD",
  "*"]
`))
	var got []string
	for _, p := range append(problems, warnings...) {
		if p.Path != "m.toml" {
			t.Errorf("path %q", p.Path)
		}
		got = append(got, strings.TrimSuffix(fmt.Sprintf("%d:%d: %s; %s", p.Line, p.Column, p.Message, p.Fix), "; "))
	}
	want := []string{
		`2:2: plugin.description: is required; write description = "…"`,
		`2:2: plugin.author: is required; write author = "…"`,
		`3:8: plugin.name: "Not Kebab" is not allowed: lower-case letters and digits, a letter first, single hyphens between; write a name such as "no-force", and give the folder the same name`,
		`4:11: plugin.version: must be a string, got a whole number; put it into quotes: "…"`,
		`5:20: plugin.protocol_version: unsupported protocol version "2.0.0": this host speaks 1.0.0; install a release of the plugin that is made for protocol 1.0.0`,
		`6:14: plugin.entrypoint: "../../bin/sh" leads out of the plugin's folder; move the program into the folder, and write its name`,
		`9:3: hooks[0]: the stage preexec needs the mode transform, got notify; write stage = "notify" for a hook that cannot refuse, or mode = "transform"`,
		`14:3: hooks[1].command: is required; write command = "…"`,
		`15:9: hooks[1].stage: must be one of prevalidate, preexec, postexec, notify, got "afterwards"; write one of them`,
		`16:8: hooks[1].mode: must be one of transform, notify, got "transfrom"; did you mean "transform"?`,
		`17:11: hooks[1].timeout: "5" is not a duration; write a number with its unit, as in "500ms", "5s" or "1m30s"`,
		`19:3: commands[0].name: is required; write name = "…"`,
		`23:11: permissions.network: must be true or false, got a string; write true or false`,
		`25:3: permissions.env_vars[1]: "*" is not the name of one variable; write the name of each variable, such as "GIT_DIR"; there are no globs here`,
		`1:1: colour: unknown key, ignored; known here: plugin, hooks, commands, permissions`,
		`7:1: plugin.verzion: unknown key, ignored; did you mean "version"?`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestManifestChecks(t *testing.T) {
	hooks := func(lines string) string { return manifestOf("p", "[[hooks]]\n"+lines) }
	for _, c := range []struct{ rule, manifest, want string }{
		{"not TOML", "[plugin", "1:7: "},
		{"a key twice", "[plugin]\nname = \"a\"\nname = \"b\"\n", "3:1: "},
		{"nothing at all", "", "1:1: plugin.name: is required"},
		{"plugin is not a table", "plugin = 7", "1:10: plugin: must be a table"},
		{"hooks are not a list", manifestOf("p", "[hooks]\ncommand = \"*\"\n"), "7:2: hooks: must be an array of tables, [[hooks]]"},
		{"a hook is not a table", "hooks = [7]\n" + manifestOf("p", ""), "1:10: hooks[0]: must be a table"},
		{"an inline hook has a place too", "hooks = [{command = \"*\", stage = \"now\", mode = \"notify\"}]\n" + manifestOf("p", ""),
			"1:34: hooks[0].stage: must be one of"},
		{"a dotted key has a place too", manifestOf("p", "permissions.network = 1\n"), ""}, // the key is plugin.permissions
		{"the notify stage needs notify mode", hooks("command=\"*\"\nstage=\"notify\"\nmode=\"transform\"\n"),
			"7:3: hooks[0]: the stage notify needs the mode notify, got transform"},
		{"other stages need transform mode", hooks("command=\"*\"\nstage=\"postexec\"\nmode=\"notify\"\n"),
			"7:3: hooks[0]: the stage postexec needs the mode transform, got notify"},
		{"a mode must be given", hooks("command=\"*\"\nstage=\"notify\"\n"), "7:3: hooks[0].mode: is required"},
		{"an invalid pattern", hooks("command=\"[\"\nstage=\"notify\"\nmode=\"notify\"\n"), `8:9: hooks[0].command: "[" is not a pattern`},
		{"a timeout of zero", hooks("command=\"*\"\nstage=\"notify\"\nmode=\"notify\"\ntimeout=\"0s\"\n"), "11:9: hooks[0].timeout"},
		{"a timeout that is a number", hooks("command=\"*\"\nstage=\"notify\"\nmode=\"notify\"\ntimeout=5\n"), "11:9: hooks[0].timeout: a duration needs a unit"},
		{"an invalid version", strings.Replace(manifestOf("p", ""), "1.0.0", "one", 1), `6:20: plugin.protocol_version: "one" is not a version`},
		{"a later minor version", strings.Replace(manifestOf("p", ""), "1.0.0", "1.7.2", 1), ""},
		{"two commands of a name", manifestOf("p", "[[commands]]\nname=\"a\"\ndescription=\"d\"\n[[commands]]\nname=\"a\"\ndescription=\"d\"\n"),
			`11:6: commands[1].name: there are two commands "a"`},
		{"a command that cannot be typed", manifestOf("p", "[[commands]]\nname=\"a b\"\ndescription=\"d\"\n"), "8:6: commands[0].name"},
		{"a command's stdin is the invocation or the user's", manifestOf("p", "[[commands]]\nname=\"a\"\ndescription=\"d\"\nstdin=\"user\"\n"), ""},
		{"a command's stdin must not be anything else", manifestOf("p", "[[commands]]\nname=\"a\"\ndescription=\"d\"\nstdin=\"keyboard\"\n"), "10:7: commands[0].stdin: must be"},
		{"an absolute entrypoint", manifestOf("p", "entrypoint = \"/bin/sh\"\n"), "7:14: plugin.entrypoint"},
		{"env_vars of a wrong type", manifestOf("p", "[permissions]\nenv_vars = \"HOME\"\n"), "8:12: permissions.env_vars: must be an array of strings"},
		{"env_vars with an empty name", manifestOf("p", "[permissions]\nenv_vars = [\"A\", \"\"]\n"), "8:18: permissions.env_vars[1]: must not be empty"},
		{"a byte order mark", "\ufeff" + manifestOf("p", ""), ""},
		{"too many keys", manyKeys(document.MaxKeys + 1), "0:0: more than 10000 keys"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			_, problems, _ := parseManifest("m", []byte(c.manifest))
			var got []string
			for _, p := range problems {
				got = append(got, fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.Message))
			}
			found := strings.Join(got, "\n")
			if (found == "") != (c.want == "") || !strings.Contains("\n"+found, "\n"+c.want) {
				t.Errorf("got\n%s\nwant %s", found, c.want)
			}
		})
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d = 1\n", i)
	}
	return b.String()
}

func TestNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "a1": true, "todo-sync": true, "a-1-b": true,
		"A": false, "1a": false, "-a": false, "a-": false, "a--b": false, "a_b": false, "a.b": false, "../a": false, "ä": false, "a\nb": false,
	} {
		_, problems, _ := parseManifest("m", []byte(manifestOf(strings.ReplaceAll(name, "\n", `\n`), "")))
		if (len(problems) == 0) != ok {
			t.Errorf("%q: %v", name, problems)
		}
	}
}

// TestPatterns: a pattern is a glob in which * also crosses dots: docs/protocols/mine.md, row M27.
func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, command string
		want             bool
	}{
		{"*", "todo.add", true},
		{"*", "", true},
		{"todo.*", "todo.add", true},
		{"todo.*", "todo.list.all", true},
		{"todo.*", "todo", false},
		{"todo.*", "mytodo.add", false},
		{"*.add", "todo.list.add", true},
		{"todo.add", "todo.add", true},
		{"todo.add", "todo.adds", false},
		{"todo.???", "todo.add", true},
		{"todo.[ab]*", "todo.add", true},
		{"*", "bin/tool", true},
		{"*", "a\nb", true},
	} {
		if got := matches(c.pattern, c.command); got != c.want {
			t.Errorf("%q, %q: %v", c.pattern, c.command, got)
		}
	}
}

// TestOddPatterns: a pattern in the syntax of a shell or a regular expression, or with a character
// that cannot be seen, is a warning: docs/protocols/mine.md, row M27.
func TestOddPatterns(t *testing.T) {
	for pattern, want := range map[string]string{
		"{rm,mv}":      `"{rm,mv}" matches only commands with "{" in their name: a pattern has only *, ? and […]`,
		"git|rm":       `matches only commands with "|" in their name`,
		"!rm":          `matches only commands with "!" in their name`,
		"rm mv":        `matches only commands with " " in their name`,
		"rm,mv":        `matches only commands with "," in their name`,
		"^git$":        `matches only commands with "^" in their name`,
		"/usr/bin/git": "matches no program: under `patchbay run` a command is the base name",
		"[!a]*":        `"[!a]*" matches an exclamation mark and the characters after it`,
		"*\u200b":      `"*\u200b" has a character that cannot be seen, and matches only commands with "\u200b" in their name`,
		"git\u00a0":    "has a character that cannot be seen",
		"größe":        "",
		`rm\\ mv`:      "", "*": "", "todo.*": "", "[^a]*": "", "git-?": "", "g++": "", "bin/tool": "",
	} {
		m, problems, warnings := parseManifest("m", []byte(manifestOf("p", "[[hooks]]\ncommand = \""+pattern+"\"\nstage=\"notify\"\nmode=\"notify\"\n")))
		if len(problems) > 0 || (len(warnings) > 0) != (want != "") || want != "" && (!strings.Contains(warnings[0].Message, want) || warnings[0].Fix == "") {
			t.Errorf("%s: problems %v, warnings %v", pattern, problems, warnings)
		}
		if len(m.misspelt) != len(warnings) {
			t.Errorf("%s: %v is not logged: %v is", pattern, warnings, m.misspelt)
		}
	}
}

// TestFixes: a fault that people make in their first manifest has a fix that they can type.
func TestFixes(t *testing.T) {
	for more, want := range map[string]string{
		"[[hooks]]\ncommand = \"[a\"\nstage = \"preexec\"\nmode = \"transform\"\n": `in single quotes: '\['`,
		"[[commands]]\nname = \"c\"\ndescription = \"d\"\nstdin = \"tty\"\n":       `write "user", or leave it out`,
		"[permissions]\nenv_vars = [\"GIT_*\"]\n":                                  "write the name of each variable",
	} {
		_, problems, _ := parseManifest("m", []byte(manifestOf("p", more)))
		if len(problems) != 1 || !strings.Contains(problems[0].Fix, want) {
			t.Errorf("%s: %+v, want the fix %s", more, problems, want)
		}
	}
	_, problems, _ := parseManifest("m", []byte(manifestOf("Big_", "")))
	if len(problems) != 1 || !strings.Contains(problems[0].Fix, `such as "no-force"`) {
		t.Errorf("%+v", problems)
	}
}

// TestConfigIsAFinding: config for a plugin of a protocol that has none is a finding.
func TestConfigIsAFinding(t *testing.T) {
	r := newRig(t)
	var noted []dialect.Problem
	r.rt.Note = func(p dialect.Problem, _ bool) { noted = append(noted, p) }
	r.settings.Config = []byte(`{"a":1}`)
	r.fake("p", everyStage)
	r.open()
	if len(noted) != 1 || noted[0].Message != "the config of [plugins.p] has no effect: mine plugins get none" || noted[0].Fix == "" {
		t.Errorf("%+v", noted)
	}
}

// TestIgnoredFolders: a folder of filesystem that has no effect is a warning.
func TestIgnoredFolders(t *testing.T) {
	for folder, odd := range map[string]bool{"~": false, "~/notes": false, "/srv": false, "banana": true, "./x": true, "~bob/x": true} {
		_, problems, warnings := parseManifest("m", []byte(manifestOf("p", "[permissions]\nfilesystem = [\""+folder+"\"]\n")))
		if len(problems) > 0 || (len(warnings) > 0) != odd || odd && !strings.Contains(warnings[0].Message, "is ignored: it is neither absolute nor below ~") {
			t.Errorf("%s: problems %v, warnings %v", folder, problems, warnings)
		}
	}
}

func FuzzParseManifest(tf *testing.F) {
	f := variants.Of(tf)
	f.Add([]byte(full))
	f.Add([]byte("hooks = [{command = \"*\", a.b = [[1], {c = 2}]}]\n[[hooks.x]]\n[hooks.x.y]\nz = 1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, problems, warnings := parseManifest("m", data)
		lines := strings.Count(string(data), "\n") + 1
		for _, p := range append(problems, warnings...) {
			if p.Message == "" || p.Line < 0 || p.Line > lines || p.Line > 0 && p.Column < 1 {
				t.Errorf("%+v", p)
			}
		}
		if len(problems) == 0 && (m.name == "" || !namePattern.MatchString(m.name)) {
			t.Errorf("accepted with the name %q", m.name)
		}
	})
}
