package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// whole has every key of the file once.
const whole = `
sandbox = "declared"

[engine]
url = "nats://one:4222, tls://two:4222"

[model]
provider = "openai"
name = "small"
base_url = "http://127.0.0.1:11434/v1"
script = "turn.yaml"

[server]
listen = "127.0.0.1:9000"
token = "hush"

[chat]
approve = "deny"

[plugins.git-context]
enabled = true
priority = 0
timeout = "1m30s"
tool_timeout = "10m"
standby = 1
env = ["GIT_*"]
on_failure = "skip"
capabilities = ["net:[]"]
allow_unenforced = true
config = { depth = 3, since = 2026-01-15T10:30:00Z, day = 2026-01-15, ratio = 0.5, tags = ["a", { b = true }] }

[plugins."dotted.name"]

[[connect]]
plugin = "tag-enforcer"
hook = "preexec"
point = "tool.before"

[jobs]
dirs = ["~/agents", "more"]
`

func TestLoadWhole(t *testing.T) {
	got, err := Load(write(t, whole))
	if err != nil {
		t.Fatal(err)
	}
	yes, zero := true, 0
	want := &Config{
		Sandbox: SandboxDeclared,
		Engine:  Engine{URL: "nats://one:4222, tls://two:4222"},
		Model:   Model{Provider: ProviderOpenAI, Name: "small", BaseURL: "http://127.0.0.1:11434/v1", Script: "turn.yaml"},
		Server:  Server{Listen: "127.0.0.1:9000", Token: NewSecret("hush")},
		Chat:    Chat{Approve: ApproveDeny},
		Plugins: map[string]Plugin{
			"git-context": {
				Enabled: &yes, Priority: &zero, Timeout: 90 * time.Second, ToolTimeout: 10 * time.Minute, Standby: 1,
				Env: []string{"GIT_*"}, OnFailure: FailSkip, Capabilities: []capability.Capability{{Kind: capability.NetNone}}, AllowUnenforced: true,
				Config: map[string]any{
					"depth": int64(3), "since": "2026-01-15T10:30:00Z", "day": "2026-01-15", "ratio": 0.5,
					"tags": []any{"a", map[string]any{"b": true}},
				},
			},
			"dotted.name": {},
		},
		Connect: []Connect{{Plugin: "tag-enforcer", Hook: "preexec", Point: "tool.before"}},
		Jobs:    Jobs{Dirs: []string{"~/agents", "more"}},
	}
	got.source, got.mode = source{}, 0
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestLoadLeavesUnsetKeysUnset(t *testing.T) {
	c, err := Load(write(t, "[plugins.a]\nenv = []\ncapabilities = []\nenabled = false\n[plugins.b]\n"))
	if err != nil {
		t.Fatal(err)
	}
	a, b := c.Plugins["a"], c.Plugins["b"]
	if a.Env == nil || a.Capabilities == nil || a.On() {
		t.Errorf("empty values must stay set: %+v", a)
	}
	if b.Env != nil || b.Capabilities != nil || b.Priority != nil || b.Config != nil || !b.On() {
		t.Errorf("missing keys must stay unset: %+v", b)
	}
}

func TestLoadWithoutFile(t *testing.T) {
	c, err := Load(filepath.Join(t.TempDir(), "none.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Sandbox != SandboxKaged || c.Server.Listen != "127.0.0.1:8000" || c.Jobs.Dirs != nil {
		t.Errorf("not the defaults: %+v", c)
	}
	if p := c.Problem("m", "f", "sandbox"); p.Line != 0 {
		t.Errorf("a position in no file: %+v", p)
	}
}

// TestLoadRefuses has one case for each rule. want is line:column and the message, as Problem
// prints them.
func TestLoadRefuses(t *testing.T) {
	for _, c := range []struct{ rule, text, want string }{
		{"bad syntax", "a = \n", "1:5: "},
		{"a key twice", "[chat]\napprove = \"ask\"\napprove = \"deny\"\n", "3:1: "},
		{"unknown key", "pluginz = 1\n", `1:1: unknown key pluginz; did you mean "plugins"?`},
		{"unknown key with nothing near", "[chat]\nzzz = 1\n", `2:1: unknown key chat.zzz; known here: approve`},
		{"unknown key of a plugin", "[plugins.a]\ntoken = \"x\"\n", `2:1: unknown key plugins.a.token; the plugin's own settings belong into config = { … } here, its secrets below [plugins.a] in secrets.toml`},
		{"unknown key by swapped letters", "[plugins.a]\ntiemout = \"5s\"\n", `2:1: unknown key plugins.a.tiemout; did you mean "timeout"?`},
		{"unknown key, dotted", "  chat.approv = 1\n", `1:8: unknown key chat.approv; did you mean "approve"?`},
		{"unknown key, inline", `connect = [{ plugin = "a", hook = "b", point = "c", pont = 1 }]`, `1:53: unknown key connect[0].pont; `},
		{"unknown table", "[sever]\nlisten = \"\"\n", `1:2: unknown key sever; did you mean "server"?`},
		{"unknown array of tables", "\n[[conect]]\n", `2:3: unknown key conect; did you mean "connect"?`},
		{"trust is one of two words", `trust = "lock"`, `1:9: trust:`},
		{"trust is a word", `trust = 1`, `1:9: trust:`},
		{"a misspelt key at the top", `trsut = 1`, `1:1: unknown key trsut`},
		{"mcp without a way to it", "[[mcp]]\nname = \"a\"", `1:3: mcp[0]: it has neither a command nor a url; write command`},
		{"mcp with two ways to it", "[[mcp]]\nname = \"a\"\nurl = \"http://a\"\ncommand = [\"b\"]", `3:7: mcp[0].url: a server has a command or a url, not both`},
		{"mcp with an invalid URL", "[[mcp]]\nname = \"a\"\nurl = \"file:///a\"", `3:7: mcp[0].url: want a URL that starts with http:// or https://`},
		{"mcp headers for a command", "[[mcp]]\nname = \"a\"\ncommand = [\"b\"]\nheaders = { A = \"b\" }", `4:11: mcp[0].headers: a server with a command has no headers`},
		{"mcp env for a url", "[[mcp]]\nname = \"a\"\nurl = \"http://a\"\nenv = { A = \"b\" }", `4:7: mcp[0].env: only a server with a command has an environment`},
		{"mcp with an odd name", "[[mcp]]\nname = \"a b\"\nurl = \"http://a\"", `2:8: mcp[0].name: "a b" is not a valid plugin name`},
		{"mcp twice", "[[mcp]]\nname = \"a\"\nurl = \"http://a\"\n[[mcp]]\nname = \"a\"\nurl = \"http://a\"", `5:8: mcp[1].name: there is another server "a"`},
		{"sandbox", `sandbox = "of"`, `1:11: sandbox: must be one of kaged, declared, off, got "of"; did you mean "off"?`},
		{"provider", "model.provider = \"OpenAI\"", `1:18: model.provider: must be one of anthropic, openai, offline, got "OpenAI"; did you mean "openai"?`},
		{"approve", "[chat]\napprove   =\t\"yes\"", `2:13: chat.approve: must be one of ask, auto, deny, got "yes"`},
		{"on_failure", "[plugins.a]\non_failure = \"stop\"", `2:14: plugins.a.on_failure: must be one of skip, abort, deny, got "stop"`},
		{"a string that is a number", "[model]\nname = 4", `2:8: model.name: must be a string, got a whole number`},
		{"a table that is a string", `server = "x"`, `1:10: server: must be a table, got a string`},
		{"a plugin that is not a table", "[plugins]\na = true", `2:5: plugins.a: must be a table, got true or false`},
		{"a plugin without a name", `[plugins.""]`, `1:10: plugins."": a plugin's name must not be empty`},
		{"a list of tables that is a table", "[connect]\nplugin = \"a\"", `1:2: connect: must be an array of tables, [[connect]], got a table`},
		{"a list of tables with something else", `connect = ["a"]`, `1:12: connect[0]: must be a table, got a string`},
		{"enabled", "[plugins.a]\nenabled = \"yes\"", `2:11: plugins.a.enabled: must be true or false, got a string`},
		{"priority with a fraction", "[plugins.a]\npriority = 1.5", `2:12: plugins.a.priority: must be a whole number, got a number with a fraction`},
		{"timeout without unit", "[plugins.a]\ntimeout = 5", `2:11: plugins.a.timeout: a duration needs a unit; write "5s" if seconds are meant`},
		{"timeout that is not a duration", "[plugins.a]\ntimeout = \"soon\"", `2:11: plugins.a.timeout: "soon" is not a duration; `},
		{"timeout of zero", "[plugins.a]\ntimeout = \"0s\"", `2:11: plugins.a.timeout: "0s" is not above zero`},
		{"timeout below zero", "[plugins.a]\ntimeout = \"-1s\"", `2:11: plugins.a.timeout: "-1s" is not above zero`},
		{"standby below zero", "[plugins.a]\nstandby = -1", `2:11: plugins.a.standby: -1 is out of range; write a number from 0 to 16`},
		{"standby beyond its bound", "[plugins.a]\nstandby = 17", `2:11: plugins.a.standby: 17 is out of range; write a number from 0 to 16`},
		{"env with a value", "[plugins.a]\nenv = [\"A\", \"B=1\"]", `2:13: plugins.a.env[1]: "B=1": want a variable's name or a glob, not a value`},
		{"an empty string in a list", "[jobs]\ndirs = [\"a\",\n  \"\"]", `3:3: jobs.dirs[1]: must not be empty`},
		{"a number in a list", "[plugins.a]\ncapabilities = [1]", `2:17: plugins.a.capabilities[0]: must be a string, got a whole number`},
		{"config beyond JSON", "[plugins.a]\nconfig.x = nan", `2:1: plugins.a.config: NaN has no counterpart in JSON`},
		{"connect without plugin", "[[connect]]\nhook = \"h\"\npoint = \"p\"", `1:3: connect[0].plugin: is required`},
		{"connect with an empty point", "[[connect]]\nplugin = \"a\"\nhook = \"h\"\npoint = \"\"", `4:9: connect[0].point: is required`},
		{"connect twice", strings.Repeat("[[connect]]\nplugin = \"a\"\nhook = \"h\"\npoint = \"p\"\n", 2), `5:3: connect[1]: the same as connect[0]`},
		{"engine without scheme", "[engine]\nurl = \"localhost:4222\"", `2:7: engine.url: want a URL that starts with nats:// or tls:// or ws:// or wss://; write nats://HOST…`},
		{"base_url without host", "[model]\nbase_url = \"http:///v1\"", `2:12: model.base_url: the URL names no host`},
		{"listen without port", "[server]\nlisten = \"localhost\"", `2:10: server.listen: "localhost" is not an address; write host and port, as in "127.0.0.1:8000"`},
		{"listen on an invalid port", "[server]\nlisten = \"localhost:http\"", `2:10: server.listen: "localhost:http" is not an address`},
		{"column after CRLF", "[chat]\r\napprove = 1\r\n", `2:11: chat.approve: must be a string, got a whole number`},
		{"column after a byte order mark", "\ufeffsandbox = 1\n", `1:11: sandbox: must be a string, got a whole number`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			path := write(t, c.text)
			_, err := Load(path)
			e, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("got %v, want an *Error", err)
			}
			if got := e.Problems[0].String(); !strings.HasPrefix(got, path+":"+c.want) {
				t.Errorf("got  %s\nwant %s:%s…", got, path, c.want)
			}
			if len(e.Problems) != 1 {
				t.Errorf("one mistake, %d problems:\n%s", len(e.Problems), err)
			}
			if p := e.Problems[0]; p.Fix == "" || strings.Contains(p.Message, p.Fix) {
				t.Errorf("no fix of its own: %q, %q", p.Message, p.Fix)
			}
		})
	}
}

func TestLoadReportsEveryProblemInOrder(t *testing.T) {
	_, err := Load(write(t, strings.Join([]string{
		`sandbox = "none"`,
		`colour = 1`,
		`[plugins.a]`,
		`timeout = 5`,
		`prioritty = 2`,
		`standby = 99`,
		`[[connect]]`,
	}, "\n")))
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatal(err)
	}
	var got []string
	for _, p := range e.Problems {
		got = append(got, p.Key)
	}
	want := []string{
		"sandbox", "colour", "plugins.a.timeout", "plugins.a.prioritty", "plugins.a.standby",
		"connect[0].plugin", "connect[0].hook", "connect[0].point",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestLoadErrorIsBounded(t *testing.T) {
	_, err := Load(write(t, manyKeys(1000)))
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 50+1 || lines[50] != "and 950 more" {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
}

func TestLoadRefusesAHugeFile(t *testing.T) {
	_, err := Load(write(t, "#"+strings.Repeat("x", document.MaxSize)))
	if _, ok := errors.AsType[*Error](err); !ok || !strings.Contains(err.Error(), "larger than 1024 KiB") {
		t.Errorf("got %v", err)
	}
}

func TestLoadRefusesTooManyKeys(t *testing.T) {
	for name, text := range map[string]string{
		"plain":  manyKeys(document.MaxKeys + 1),
		"inline": "plugins.a.config = { k" + strings.ReplaceAll(strings.TrimSuffix(manyKeys(document.MaxKeys+1), "\n"), "\n", ", ") + " }",
		"dotted": "a" + strings.Repeat(".a", document.MaxKeys) + " = 1",
		"lists":  "[plugins.a]\n" + strings.Repeat("[[plugins.a.config.x]]\ny = 1\n", document.MaxKeys),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Load(write(t, text)); err == nil || !strings.Contains(err.Error(), "more than 10000 keys") {
				t.Errorf("got %.200v", err)
			}
		})
	}
}

func TestLoadSaysWhyAFileCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("a directory: got %v", err)
	}
}

// TestALinkToNothingIsNoMissingFile: it may lead to a disk that is not mounted.
func TestALinkToNothingIsNoMissingFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "patchbay")
	if err := os.Symlink("/no/such/directory", dir); err != nil {
		t.Fatal(err)
	}
	want := "the link " + dir + " leads to nothing"
	if _, err := Load(filepath.Join(dir, "config.toml")); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("config: %v", err)
	}
	if _, err := LoadSecrets(filepath.Join(dir, "secrets.toml")); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("secrets: %v", err)
	}
}

func TestLoadBoundsDepth(t *testing.T) {
	for name, text := range map[string]string{
		"arrays":      "[plugins.a]\nconfig.x = " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
		"dotted keys": "[plugins.a]\nconfig" + strings.Repeat(".x", 5000) + " = 1",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Load(write(t, text)); err == nil || !strings.Contains(err.Error(), "nested more than 64 deep") {
				t.Errorf("got %.200v", err)
			}
		})
	}
}

func TestConfigProblem(t *testing.T) {
	c, err := Load(write(t, whole))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		path []any
		key  string
		at   string // the text at the position
	}{
		{[]any{"connect", 0, "point"}, "connect[0].point", `"tool.before"`},
		{[]any{"plugins", "git-context", "config", "tags", 1, "b"}, "plugins.git-context.config.tags[1].b", "true }"},
		{[]any{"plugins", "dotted.name"}, `plugins."dotted.name"`, `"dotted.name"]`},
		{[]any{"plugins", "git-context", "config", "missing"}, "plugins.git-context.config.missing", "{ depth"},
		{[]any{"plugins", "git-context", "capabilities", 0}, "plugins.git-context.capabilities[0]", `"net:[]"`},
	} {
		p := c.Problem("m", "f", x.path...)
		if p.Key != x.key || p.File != c.File() || p.Message != "m" || p.Fix != "f" {
			t.Errorf("%v: got %+v", x.path, p)
		}
		if !strings.HasPrefix(textAt(whole, p), x.at) {
			t.Errorf("%s: %d:%d is %.20q, want %q", p.Key, p.Line, p.Column, textAt(whole, p), x.at)
		}
	}
}

func TestConfigHidesItsToken(t *testing.T) {
	c, err := Load(write(t, whole))
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(c)
	if err != nil || strings.Contains(string(out), "hush") {
		t.Errorf("%s, %v", out, err)
	}
}

func FuzzLoad(tf *testing.F) {
	f := variants.Of(tf)
	f.Add([]byte(whole))
	f.Add([]byte("[plugins.a]\nconfig.a.b = [[1], {c = nan}]\n[[plugins.a.x]]\n[plugins.a.x.y]\nz=1"))
	f.Add([]byte("connect = [[]]\nmcp = [{}]\n\"\" = ''\n"))
	f.Add([]byte("\ufeff'plugins'.\"a\\u0062\" = {\n# note\n timeout = 5,\n}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines := strings.Count(string(data), "\n") + 1
		c, err := parseConfig("f", data)
		if err == nil {
			if c.Sandbox == "" || c.Server.Listen == "" {
				t.Fatalf("defaults are missing: %+v", c)
			}
			if _, err := json.Marshal(c.Plugins); err != nil {
				t.Fatalf("a plugin's config is not JSON: %v", err)
			}
			return
		}
		e, ok := errors.AsType[*Error](err)
		if !ok || len(e.Problems) == 0 {
			t.Fatalf("not an *Error with problems: %v", err)
		}
		for _, p := range e.Problems {
			if p.Line == 0 && strings.Contains(p.Message, "more than") {
				continue // the position of the whole file
			}
			if p.Message == "" || p.Line < 1 || p.Line > lines || p.Column < 1 {
				t.Fatalf("without a place: %+v", p)
			}
		}
	})
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "unknown-%d = 1\n", i)
	}
	return b.String()
}

// textAt returns the text at a problem's position.
func textAt(text string, p Problem) string {
	if p.Line < 1 {
		return ""
	}
	lines := strings.SplitAfter(text, "\n")
	return strings.Join(lines[p.Line-1:], "")[p.Column-1:]
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
