//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/newplugin"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/plugtest/soak"
)

// templatesVariable is set to "all" by `make test-templates`.
const templatesVariable = "PATCHBAY_TEMPLATES"

// brief lists the templates of the ordinary tests: one of each dialect, and at least one of each
// language.
var brief = []newplugin.Request{
	{Dialect: "scaffold", Language: "javascript"}, {Dialect: "kaged", Language: "go"}, {Dialect: "mine", Language: "python"},
	{Dialect: "dotagent", Language: "bash"}, {Dialect: "python", Language: "python"}, {Dialect: "mcp", Language: "python"},
}

// TestTemplates makes plugins from templates with plugin new, and types the commands that it prints
// as the next steps. Then it uses each plugin in a turn, a command or a job.
func TestTemplates(t *testing.T) {
	for _, d := range newplugin.Dialects() {
		for _, l := range newplugin.Languages(d.Word) {
			r := newplugin.Request{Name: "first-one", Dialect: d.Word, Language: l.Word}
			if !wanted(r) {
				continue
			}
			t.Run(d.Word+" in "+l.Word, func(t *testing.T) {
				t.Parallel()
				needLanguage(t, r.Language)
				newTemplateTest(t, r).run()
			})
		}
	}
}

func wanted(r newplugin.Request) bool {
	r.Name = ""
	return soak.Long() || os.Getenv(templatesVariable) == "all" || slices.Contains(brief, r)
}

// needLanguage skips the test if a program is missing that plugins of a language need.
func needLanguage(t *testing.T, language string) {
	t.Helper()
	plugtest.NeedTool(t, map[string]string{"go": "go", "python": "python3", "javascript": "node", "bash": "bash"}[language])
}

// goEnv lets go use the tester's cache with another home: with an empty cache it would compile the
// whole library.
func goEnv(t *testing.T) []string {
	t.Helper()
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return []string{"GOCACHE=" + strings.TrimSpace(string(cache)), "CGO_ENABLED=0", "GOTOOLCHAIN=local", "GOPROXY=off", "GOFLAGS="}
}

// A templateTest is one plugin, made in its own home.
type templateTest struct {
	*testing.T
	r    newplugin.Request
	home string
	env  []string
}

func newTemplateTest(t *testing.T, r newplugin.Request) *templateTest {
	home := t.TempDir()
	env := patchbayIn(home).Env
	if r.Language == "go" {
		env = append(env, goEnv(t)...)
	}
	if err := os.MkdirAll(filepath.Join(home, ".config", "patchbay"), 0o755); err != nil {
		t.Fatal(err)
	}
	return &templateTest{t, r, home, env}
}

// run types the commands that plugin new prints, then uses the plugin.
func (t *templateTest) run() {
	var made struct{ Next []newplugin.Step }
	t.decode(t.shell("patchbay plugin new "+t.r.Name+" --dialect "+t.r.Dialect+" --lang "+t.r.Language+" --json"), &made)
	for _, s := range made.Next {
		switch {
		case strings.HasPrefix(s.Command, "patchbay plugin dev"):
			t.has(t.shell("echo list | "+s.Command), t.r.Name) // its input has ended, so it does not wait for keys
		case strings.HasPrefix(s.Command, "patchbay plugin test"):
			t.conforms(s.Command)
		default:
			t.shell(s.Command)
		}
	}
	uses[t.r.Dialect](t)
}

// conforms runs plugin test. A warning is a failure too, because a template is an example.
func (t *templateTest) conforms(command string) {
	t.Helper()
	var report struct {
		OK     bool
		Checks []struct{ ID, Status, Message string }
	}
	t.decode(t.shell(strings.Replace(command, "plugin test", "plugin test --json", 1)), &report)
	for _, c := range report.Checks {
		if c.Status != "pass" && c.Status != "skip" {
			t.Errorf("%s: %s: %s", c.ID, c.Status, c.Message)
		}
	}
	if !report.OK || len(report.Checks) == 0 {
		t.Errorf("%s: %+v", command, report)
	}
}

// uses lists how a plugin of each dialect is used.
var uses = map[string]func(t *templateTest){
	"scaffold": func(t *templateTest) {
		t.turn(`- tools: [{name: plugin_first-one_count, arguments: {text: "to be"}}]`, "words: 2, lines: 1, characters: 5", "Done.")
	},
	"mcp": func(t *templateTest) {
		t.turn(`- tools: [{name: first-one_count, arguments: {text: "to be"}}]`, "words: 2, lines: 1, characters: 5", "Done.")
	},
	"kaged": func(t *templateTest) {
		t.turn(`- tools: [{name: first-one.list, arguments: {}}]`, `["to be or not to be"]`, "Done.") // the note that the printed command has stored
		out := t.shell(`patchbay fire session.start --data '{"session_id":"s"}' --json`)
		t.has(out, `"inject":"Notes from earlier:\n- to be or not to be"`)
	},
	"python": func(t *templateTest) {
		t.turn(`- tools: [{name: shell, arguments: {cmd: "echo password=hunter2"}}]`, "password=[hidden]", "Done.\n\n(1 secrets hidden from the model)")
	},
	"mine": func(t *templateTest) {
		plugtest.NeedTool(t, "git")
		out := t.shell(`git init -q repo && cd repo && GIT_TRACE=1 patchbay run -- git push --force 2>&1 || true`) // the push fails without a remote; only the arguments of git count
		t.has(out, "git push --force-with-lease")
	},
	"dotagent": func(t *templateTest) {
		write(t.T, t.home, ".config/patchbay/agents/hello/agent.toml", `[agent]
name = "hello"
[run]
command = "printf"
args = ['one\ntwo "three"\n']
[[on_success]]
plugin = "first-one"
config = { path = "~/kept/all.md" }
`)
		t.shell("patchbay job run hello")
		t.has(t.shell("cat kept/all.md"), "## hello/manual, ", "\n\none\ntwo \"three\"\n\n")
	},
}

// turn runs one turn of the agent, in which the offline model calls a tool.
func (t *templateTest) turn(script, result, answer string) {
	t.Helper()
	write(t.T, t.home, "turn.yaml", script+"\n- text: Done.\n")
	var out struct {
		Text  string
		Tools []struct{ Result string }
	}
	t.decode(t.shell("patchbay chat -p hello --script turn.yaml --yes --json"), &out)
	if len(out.Tools) != 1 || strings.TrimSpace(out.Tools[0].Result) != result || out.Text != answer {
		t.Errorf("the turn is %+v", out)
	}
}

// shell runs a command, which must succeed, and returns its stdout.
func (t *templateTest) shell(command string) string {
	t.Helper()
	cmd := exec.Command("bash", "-c", command)
	cmd.Dir, cmd.Env = t.home, t.env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s\n%v\n%s%s", command, err, out, stderr.String())
	}
	return string(out)
}

func (t *templateTest) decode(text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

func (t *templateTest) has(text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
}
