package plugin_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	plugin "github.com/patchbay-dev/patchbay/sdk/go"
	"github.com/patchbay-dev/patchbay/sdk/go/plugintest"
)

func nothing(context.Context, struct{}) (string, error) { return "", nil }

func TestDefinitionsAreChecked(t *testing.T) {
	p := plugin.New("Bad_Name", "one", "")
	plugin.Tool(p, "Loud", "", nothing)
	plugin.Tool(p, "a", "A.", func(context.Context, chan int) (string, error) { return "", nil })
	plugin.Tool(p, "a", "A.", nothing, plugin.Only("x"))
	plugin.Tool(p, "b", "B.", nothing, plugin.Schema("["))
	plugin.Method(p, "kaged.x", "X.", nothing)
	plugin.On(p, plugin.JobSink, func(context.Context, *plugin.JobEvent) plugin.Verdict { return plugin.Continue() }, plugin.Only("x"))
	plugin.On(p, plugin.ToolBefore, func(context.Context, *plugin.ToolEvent) plugin.Verdict { return plugin.Continue() }, plugin.Only("["))
	plugin.Config(p, 1)
	p.Command("-x", "X.", nil)
	p.Notification("")
	code, _, said := run(p, "", "info")
	want(t, "exit code", code, 2)
	for _, part := range []string{`the name "Bad_Name" is invalid`, `"one" is not a semantic version`, "the description has 0 characters", `tool "Loud": the name`,
		`tool "Loud" has no description`, "chan int cannot be JSON", `tool "a" is defined twice`, "a has an option that has no effect there", "b: the schema of its arguments",
		`method "kaged.x"`, "job.sink has an option that has no effect there", `tool.before: "[" is not a pattern`, "the config must be a struct", `command "-x"`, `notification ""`} {
		wantHas(t, "stderr", said, part)
	}
}

func TestAMethodMustNotHideATool(t *testing.T) {
	p := plugin.New("words", "1.0.0", "Counts.")
	plugin.Tool(p, "count", "Counts.", nothing)
	plugin.Method(p, "words.count", "Counts.", nothing)
	wantHas(t, "error", p.Check().Error(), `method "words.count" has the name that kaged gives to the tool "count"`)
	wantHas(t, "nothing at all", plugin.New("words", "1.0.0", "Counts.").Check().Error(), "no handler, tool, method or command")
}

func TestManifests(t *testing.T) {
	w := newWhole()
	w.plugin.Needs("net:example.org:443", "read:fs:/srv")
	kaged, err := w.plugin.Manifest(plugin.Kaged, "/x/whole")
	want(t, "error", err, nil)
	for _, part := range []string{"name: whole\nversion: 1.2.3\nkaged_api: 1\n", `command: ["./whole"]`, "methods: [\"whole.who\"]",
		"roles: [\"observer\",\"compactor\"]", "system_config_schema:", "    type: int_range\n    label: Limit\n    binds_to: config.limit\n",
		`capabilities: ["net:example.org:443","read:fs:/srv","kaged:storage:read","kaged:storage:write"]`} {
		wantHas(t, "kaged", string(kaged), part)
	}
	mine, err := w.plugin.Manifest(plugin.Mine, "/x/whole")
	want(t, "error", err, nil)
	for _, part := range []string{"[[hooks]]\ncommand = \"git\"\nstage = \"preexec\"\nmode = \"transform\"\ntimeout = \"2s\"\n", "stage = \"notify\"\nmode = \"notify\"\n",
		"stdin = \"user\"", "network = true\nfilesystem = [\"/srv\", \"~/.local/share/whole\", \"~/.config/whole\"]\nenv_vars = [\"WHOLE_TOKEN\"]\n"} {
		wantHas(t, "mine", string(mine), part)
	}
	w.plugin.Author = ""
	if _, err := w.plugin.Manifest(plugin.Mine, ""); err == nil || !strings.Contains(err.Error(), "mine requires an author") {
		t.Errorf("without an author: %v", err)
	}
	if _, err := w.plugin.Manifest("odd", ""); err == nil {
		t.Error("there is no dialect odd")
	}
}

func TestOneEntryForAStageWithSeveralPatterns(t *testing.T) {
	p := plugin.New("two", "1.0.0", "Has two handlers.")
	p.Author = "A"
	asked := 0
	count := func(context.Context, *plugin.CommandEvent) plugin.Verdict { asked++; return plugin.NoOpinion() }
	plugin.On(p, plugin.CommandBefore, count, plugin.Only("git*"))
	plugin.On(p, plugin.CommandBefore, count, plugin.Only("ls"))
	mine, err := p.Manifest(plugin.Mine, "two")
	want(t, "error", err, nil)
	want(t, "entries", strings.Count(string(mine), "[[hooks]]\ncommand = \"*\"\n"), 1)
	h := plugintest.New(t, p, plugin.Mine, plugintest.Options{})
	plugintest.Fire(h, plugin.CommandBefore, plugin.CommandEvent{Command: "git.add"})
	want(t, "asked", asked, 1)
}

type nested struct {
	Name  string            `json:"name"`
	Tags  []string          `json:"tags,omitempty"`
	More  map[string]int    `json:"more,omitempty"`
	Inner *struct{ A bool } `json:"inner"`
	Level int               `json:"level,omitempty" enum:"1,2"`
	base
}

type base struct {
	Odd any `json:"odd,omitempty"`
}

func TestArgumentsAreChecked(t *testing.T) {
	p := plugin.New("strict", "1.0.0", "Is strict.")
	plugin.Tool(p, "take", "Takes.", func(_ context.Context, in nested) (string, error) { return in.Name, nil })
	plugin.Tool(p, "any", "Takes anything.", func(_ context.Context, in map[string]any) (int, error) { return len(in), nil },
		plugin.Schema(`{"type":"object","properties":{"n":{"type":"integer","minimum":2}},"required":["n"]}`))
	h := plugintest.New(t, p, plugin.Kaged, plugintest.Options{})
	for _, c := range []struct{ args, want string }{
		{`{"name":"a","tags":["x"],"more":{"b":1},"inner":{"A":true},"level":2,"odd":[]}`, "a"},
		{`{}`, "name: is required"},
		{`{"name":"a","tags":[1],"more":{"b":"c"},"inner":{"A":1},"level":3}`,
			"tags[0]: must be a string; more.b: must be a whole number; inner.A: must be a boolean; level: must be one of 1, 2"},
		{`[]`, "the value: must be an object"},
	} {
		got, err := h.Tool("take", rawJSON(c.args))
		if err != nil {
			got = err.Error()
		}
		if c.args == "[]" {
			wantHas(t, c.args, got, "not a JSON object")
			continue
		}
		for part := range strings.SplitSeq(c.want, "; ") {
			wantHas(t, c.args, got, part)
		}
	}
	got, err := h.Tool("any", map[string]any{"n": 2, "_context": map[string]any{}})
	want(t, "a map does not see the host's own fields", got, "1")
	want(t, "its error", err, nil)
	if _, err := h.Tool("any", map[string]any{"n": 1}); err == nil || err.Error() != "n: must be at least 2" {
		t.Errorf("a schema by hand: %v", err)
	}
}

type rawJSON string

func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }

type checked struct {
	Path string `json:"path"`
}

func (c *checked) Validate() error {
	if c.Path == "/" {
		return errors.New("path: must not be the root")
	}
	return nil
}

func TestConfig(t *testing.T) {
	define := func() *plugin.Plugin {
		p := plugin.New("conf", "1.0.0", "Has a config.")
		config := plugin.Config(p, checked{})
		secrets := plugin.Secrets(p, wholeSecrets{})
		plugin.Tool(p, "tell", "Tells.", func(context.Context, struct{}) (string, error) { return config.Path + secrets.Token, nil })
		plugin.On(p, plugin.JobSink, func(context.Context, *plugin.JobEvent) plugin.Verdict { return plugin.Continue() })
		return p
	}
	t.Run("from a file, and secrets from the environment, where the dialect has neither", func(t *testing.T) {
		h := plugintest.New(t, define(), plugin.Scaffold, plugintest.Options{Config: map[string]any{"path": "/a"}, Env: map[string]string{"WHOLE_TOKEN": "t"}})
		got, err := h.Tool("tell", nil)
		want(t, "result", got, "/at")
		want(t, "error", err, nil)
	})
	t.Run("a file that lacks something is named", func(t *testing.T) {
		_, out, _ := runIn(t.TempDir(), define(), `{"jsonrpc":"2.0","method":"initialize","params":{"protocol_version":1},"id":1}`+"\n")
		wantHas(t, "answer", out, "config: path: is required; the config is ")
	})
	t.Run("Validate can refuse a config that fits the schema", func(t *testing.T) {
		h := plugintest.New(t, define(), plugin.Dotagent, plugintest.Options{Config: map[string]any{"path": "/"}})
		want(t, "validate", h.Validate(map[string]any{"path": "/"}).Error(), "path: must not be the root")
		want(t, "invoke", plugintest.Fire(h, plugin.JobSink, plugin.JobEvent{}).Reason, "config: path: must not be the root")
	})
}

func runIn(home string, p *plugin.Plugin, stdin string) (int, string, string) {
	var out, said strings.Builder
	code := p.Run(context.Background(), plugin.Process{Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &said,
		Env: func(name string) string { return map[string]string{"HOME": home}[name] }})
	return code, out.String(), said.String()
}

func TestState(t *testing.T) {
	define := func() *plugin.Plugin {
		p := plugin.New("keeper", "1.0.0", "Keeps.")
		state := p.State()
		plugin.Tool(p, "try", "Tries everything.", func(ctx context.Context, _ struct{}) ([]any, error) {
			long := "a/ü" + strings.Repeat("x", 300)
			var got []int
			err := errors.Join(state.Put(ctx, "a/b", []int{1}), state.Put(ctx, long, nil))
			found, gerr := state.Get(ctx, "a/b", &got)
			absent, aerr := state.Get(ctx, "absent", &got)
			keys, lerr := state.List(ctx, "a/")
			err = errors.Join(err, gerr, aerr, lerr, state.Delete(ctx, "a/b"), state.Delete(ctx, "a/b"))
			gone, gerr := state.Get(ctx, "a/b", &got)
			if terr := state.Put(ctx, strings.Repeat("x", 513), 1); terr == nil {
				err = errors.Join(err, errors.New("a key may be too long"))
			}
			return []any{found, absent, len(keys), gone}, errors.Join(err, gerr)
		})
		p.Start(func(ctx context.Context) error { return state.Put(ctx, "started", true) })
		return p
	}
	for _, d := range []plugin.Dialect{plugin.Scaffold, plugin.Kaged} {
		t.Run(string(d), func(t *testing.T) {
			got, err := plugintest.New(t, define(), d, plugintest.Options{}).Tool("try", nil)
			want(t, "error", err, nil)
			want(t, "result", got, "[true,false,2,false]")
		})
	}
	t.Run("a host without storage has no place for it", func(t *testing.T) {
		_, out, _ := run(define(), `{"jsonrpc":"2.0","method":"initialize","params":{"api_version":1,"storage_available":false},"id":1}`+"\n")
		wantHas(t, "answer", out, "there is no place for state")
	})
}
