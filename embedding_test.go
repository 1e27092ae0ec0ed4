package patchbay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/patchbay-dev/patchbay"
	"github.com/patchbay-dev/patchbay/filestore"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// The Examples of this file are the code of docs/embedding.md: see TestTheEmbeddingPage.

func ExampleOptions_dirs() {
	pluginDir, remove := shoutDir()
	defer remove()
	ctx := context.Background()

	host, err := patchbay.Open(ctx, &patchbay.Options{Dirs: []string{pluginDir}})
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close()

	for _, p := range host.Plugins() {
		fmt.Println(p.Name, p.Dialect, p.State)
	}
	// Output: shout scaffold ready
}

func ExampleOptions_points() {
	pluginDir, remove := shoutDir()
	defer remove()
	ctx := context.Background()

	options := &patchbay.Options{
		Dirs: []string{pluginDir},
		Points: []patchbay.Point{{
			Name:   "release.notes",
			Like:   hook.TurnInput,
			Schema: json.RawMessage(`{"type": "object", "required": ["message"], "properties": {"message": {"type": "string"}}}`),
		}},
	}
	host, err := patchbay.Open(ctx, options)
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close()

	out, err := host.Fire(ctx, "release.notes", map[string]string{"message": "faster"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(out.Payload))

	_, err = host.Fire(ctx, "release.notes", map[string]string{"massage": "faster"})
	fmt.Println(errors.Is(err, hook.ErrBadPayload))
	// Output:
	// {"message":"FASTER"}
	// true
}

func ExampleOptions_storage() {
	pluginDir, remove := shoutDir()
	defer remove()
	dataDir, err := os.MkdirTemp("", "patchbay-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dataDir)
	ctx := context.Background()

	store := filestore.New(dataDir)
	host, err := patchbay.Open(ctx, &patchbay.Options{Dirs: []string{pluginDir}, Storage: store.Plugin})
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close()
	fmt.Println(len(host.Plugins()))
	// Output: 1
}

func ExamplePlugin() {
	ctx := context.Background()

	polite := patchbay.Plugin{
		Name: "polite",
		Hooks: map[hook.Point]func(context.Context, *hook.Event) (hook.Reply, error){
			hook.TurnInput: func(_ context.Context, ev *hook.Event) (hook.Reply, error) {
				text, _ := ev.Payload.String("message")
				return hook.Reply{Set: hook.Object{{Name: "message", Value: rawjson.String("please " + text)}}}, nil
			},
			hook.ToolBefore: func(_ context.Context, ev *hook.Event) (hook.Reply, error) {
				return hook.Reply{Verdict: hook.Deny, Reason: "ask me nicely"}, nil
			},
		},
	}
	host, err := patchbay.Open(ctx, &patchbay.Options{Dirs: []string{}, Plugins: []patchbay.Plugin{polite}})
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close()

	out, err := host.Fire(ctx, hook.TurnInput, map[string]string{"message": "be quiet"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(out.Payload))

	out, err = host.Fire(ctx, hook.ToolBefore, map[string]any{"tool": "shell", "arguments": map[string]string{"cmd": "ls"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Verdict, out.By, out.Reason)
	// Output:
	// {"message":"please be quiet"}
	// deny polite ask me nicely
}

// shoutDir returns a directory with the plugin of the other examples.
func shoutDir() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "patchbay-example-")
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "shout"), []byte(shout), 0o700); err != nil {
		log.Fatal(err)
	}
	return dir, func() { os.RemoveAll(dir) }
}

// TestTheEmbeddingPage: every block of Go on the page is in one of the files with Examples.
func TestTheEmbeddingPage(t *testing.T) {
	page, err := os.ReadFile("docs/embedding.md")
	if err != nil {
		t.Fatal(err)
	}
	var compiled string
	for _, file := range []string{"embedding_test.go", "example_test.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		compiled += flat(string(text))
	}
	blocks := strings.Split(string(page), "```go\n")[1:]
	if len(blocks) < 5 {
		t.Fatalf("the page has %d blocks", len(blocks))
	}
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		if !strings.Contains(compiled, flat(code)) {
			t.Errorf("no file with Examples contains this code:\n%s", code)
		}
	}
}

// flat returns code without its indentation.
func flat(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		b.WriteString(strings.TrimSpace(line))
		b.WriteByte('\n')
	}
	return b.String()
}

// TestDirsIgnoreTheUsersFiles: with Dirs, neither the user's plugins nor the user's configuration
// are used.
func TestDirsIgnoreTheUsersFiles(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	write(t, filepath.Join(home, ".local/scaffold/plugins/theirs"), shout)
	write(t, filepath.Join(home, ".config/patchbay/config.toml"), "this is = not TOML\n")
	write(t, filepath.Join(home, ".config/patchbay/secrets.toml"), "neither is this\n")
	write(t, filepath.Join(dir, "shout"), shout)
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte("no plugin"), 0o644); err != nil {
		t.Fatal(err)
	}
	environ := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	host := open(t, &patchbay.Options{Environ: environ, Dir: home, Dirs: []string{dir, filepath.Join(dir, "not-there-yet")}})
	if got := names(host); got != "shout:ready" {
		t.Errorf("plugins %s", got)
	}

	write(t, filepath.Join(dir, "late"), strings.Replace(shout, `"name":"shout"`, `"name":"late"`, 1))
	if err := host.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := names(host); got != "late:ready shout:ready" {
		t.Errorf("after a second plugin was added: %s", got)
	}

	_, err := patchbay.Open(t.Context(), &patchbay.Options{Environ: environ, Dir: home})
	if err == nil {
		t.Error("without Dirs the user's configuration is not read")
	}
	if got := names(open(t, &patchbay.Options{Environ: environ, Dir: home, Dirs: []string{dir}, Dialects: []string{"kaged"}})); got != "" {
		t.Errorf("with only another dialect: %s", got)
	}
	if _, err := patchbay.Open(t.Context(), &patchbay.Options{Dirs: []string{dir}, Dialects: []string{"cagged"}}); !errors.Is(err, patchbay.ErrNoDialect) {
		t.Errorf("a dialect that does not exist: %v", err)
	}
}

// TestDirsWithAConfigFile: with Dirs and ConfigFile, the program's file is used and the user's is
// not.
func TestDirsWithAConfigFile(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "plugins", "shout"), shout)
	write(t, filepath.Join(dir, "own.toml"), "[plugins.shout]\nenabled = false\n")
	host := open(t, &patchbay.Options{Dirs: []string{filepath.Join(dir, "plugins")}, ConfigFile: filepath.Join(dir, "own.toml"),
		Environ: []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}})
	if got := names(host); got != "shout:disabled" {
		t.Errorf("plugins %s", got)
	}
}

// TestOwnPoints: a point of the program calls the plugins of the built-in point that it is like, in
// the mode of that point. Points and connections that are invalid are refused.
func TestOwnPoints(t *testing.T) {
	ask := func(answer hook.Reply) func(context.Context, *hook.Event) (hook.Reply, error) {
		return func(_ context.Context, ev *hook.Event) (hook.Reply, error) {
			answer.Notes = []string{string(ev.Point)}
			return answer, nil
		}
	}
	type hooks = map[hook.Point]func(context.Context, *hook.Event) (hook.Reply, error)
	options := &patchbay.Options{
		Dirs: []string{},
		Plugins: []patchbay.Plugin{
			{Name: "guard", Hooks: hooks{hook.ToolBefore: ask(hook.Reply{Verdict: hook.Deny, Reason: "no"})}},
			{Name: "both", Priority: 1, Hooks: hooks{hook.ToolBefore: ask(hook.Reply{}), "deploy.before": ask(hook.Reply{})}},
			{Name: "elsewhere", Priority: 2, Hooks: hooks{hook.TurnInput: ask(hook.Reply{})}},
		},
		Points:  []patchbay.Point{{Name: "deploy.before", Like: hook.ToolBefore}},
		Connect: []patchbay.Connection{{Plugin: "elsewhere", Hook: "turn.input", Point: "deploy.before"}},
	}
	out, err := open(t, options).Fire(t.Context(), "deploy.before", map[string]string{"tool": "deploy"})
	if err != nil {
		t.Fatal(err)
	}
	var steps []string
	for _, s := range out.Steps {
		steps = append(steps, s.Plugin+" at "+strings.Join(s.Notes, ","))
	}
	if got, want := strings.Join(steps, "; "), "both at deploy.before; elsewhere at tool.before; guard at tool.before"; got != want {
		t.Errorf("asked %s\nwant  %s", got, want)
	}
	if out.Verdict != hook.Deny || out.By != "guard" || out.Point != "deploy.before" {
		t.Errorf("outcome %+v", out)
	}

	for _, c := range []struct {
		point patchbay.Point
		want  string
	}{
		{patchbay.Point{Name: "a", Like: "tool.befor"}, "tool.befor"},
		{patchbay.Point{Name: hook.ToolBefore, Like: hook.ToolBefore}, "taken"},
		{patchbay.Point{Like: hook.ToolBefore}, "empty"},
		{patchbay.Point{Name: "a", Like: hook.ToolBefore, Schema: json.RawMessage(`{"type": 7}`)}, "schema"},
	} {
		_, err := patchbay.Open(t.Context(), &patchbay.Options{Dirs: []string{}, Points: []patchbay.Point{c.point}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q in it", c.point, err, c.want)
		}
	}
	if _, err := patchbay.Open(t.Context(), &patchbay.Options{Dirs: []string{}, Connect: []patchbay.Connection{{Plugin: "x", Hook: "y", Point: "z"}}}); err == nil {
		t.Error("a connection to a point that does not exist is accepted")
	}
}

// TestPluginsOfFunctions: plugins made of functions can offer tools, return errors and panic. One
// with an invalid name is broken.
func TestPluginsOfFunctions(t *testing.T) {
	host := open(t, &patchbay.Options{Dirs: []string{}, Plugins: []patchbay.Plugin{
		{Name: "sums", Description: "Adds", Tools: []patchbay.ToolFunc{
			{Name: "add", Description: "Adds two", Parameters: json.RawMessage(`{"type":"object"}`), Call: func(_ context.Context, args json.RawMessage) (string, error) {
				var in struct{ A, B int }
				if err := json.Unmarshal(args, &in); err != nil {
					return "", err
				}
				return fmt.Sprint(in.A + in.B), nil
			}},
			{Name: "fail", Call: func(context.Context, json.RawMessage) (string, error) { return "", errors.New("not today") }},
			{Name: "panic", Call: func(context.Context, json.RawMessage) (string, error) { panic("at the disco") }},
		}},
		{Name: "shaky", Hooks: map[hook.Point]func(context.Context, *hook.Event) (hook.Reply, error){
			hook.TurnInput: func(context.Context, *hook.Event) (hook.Reply, error) { panic("again") },
			hook.TurnBegin: func(context.Context, *hook.Event) (hook.Reply, error) { return hook.Reply{}, errors.New("broken") },
		}},
		{Name: "not a name"},
	}})
	if got := names(host); got != "not a name:broken shaky:ready sums:ready" {
		t.Errorf("plugins %s", got)
	}
	for _, c := range []struct{ tool, args, want string }{
		{"add", `{"a":2,"b":3}`, "true 5 "}, {"add", `{"a":"x"}`, "false  json"}, {"fail", `{}`, "false  not today"},
	} {
		r, err := host.CallTool(t.Context(), "plugin_sums_"+c.tool, json.RawMessage(c.args))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(r.Success, " ", r.Result, " ", r.Error); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s %s: %s", c.tool, c.args, got)
		}
	}
	if _, err := host.CallTool(t.Context(), "plugin_sums_panic", nil); !errors.Is(err, hook.Crash) {
		t.Errorf("a tool that panics: %v", err)
	}
	if tools := host.Tools(); len(tools) != 3 || tools[0].Name != "plugin_sums_add" || tools[0].Dialect != "go" {
		t.Errorf("tools %+v", tools)
	}
	out, err := host.Fire(t.Context(), hook.TurnInput, map[string]string{"message": "hi"})
	if err != nil || out.Verdict != hook.Continue || !errors.Is(out.Steps[0].Err, hook.Crash) {
		t.Errorf("a hook that panics: %v, %+v", err, out)
	}
	out, err = host.Fire(t.Context(), hook.TurnBegin, nil)
	if err != nil || out.Verdict != hook.Deny {
		t.Errorf("a gate whose plugin fails: %v, %+v", err, out)
	}
}

// TestPendingCallsAreNamed: closing a host while a call is pending logs the plugin that has not
// answered.
func TestPendingCallsAreNamed(t *testing.T) {
	asked, leave := make(chan struct{}), make(chan struct{})
	var log bytes.Buffer
	host := open(t, &patchbay.Options{Dirs: []string{}, Logger: slog.New(slog.NewTextHandler(&log, nil)), Plugins: []patchbay.Plugin{
		{Name: "thinker", Hooks: map[hook.Point]func(context.Context, *hook.Event) (hook.Reply, error){
			hook.TurnInput: func(context.Context, *hook.Event) (hook.Reply, error) {
				close(asked)
				<-leave
				return hook.Reply{}, nil
			}}},
		{Name: "idle"},
	}})
	var fired sync.WaitGroup
	fired.Go(func() {
		if _, err := host.Fire(t.Context(), hook.TurnInput, nil); err != nil {
			t.Error(err)
		}
	})
	<-asked
	if err := host.Close(); err != nil {
		t.Error(err)
	}
	close(leave)
	fired.Wait()
	if got := log.String(); strings.Count(got, "pending") != 1 || !strings.Contains(got, "plugin=thinker dialect=go calls=1") {
		t.Errorf("the log says %q", got)
	}
}

// TestInfoHasEveryField: the public types have every field that the command prints.
func TestInfoHasEveryField(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "shout"), shout)
	write(t, filepath.Join(dir, "broken"), "#!/nowhere/at/all\n")
	host := open(t, &patchbay.Options{Dirs: []string{dir}})
	for _, p := range host.Plugins() {
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range []string{"name", "dialect", "version", "description", "path", "state", "hooks", "tools", "commands", "methods", "kinds", "priority", "pid", "error"} {
			if !strings.Contains(string(text), `"`+field+`":`) {
				t.Errorf("%s is missing in %s", field, text)
			}
		}
		if (p.State == patchbay.Ready) != (p.Pid != nil) || (p.State == patchbay.Broken) != (p.Error != nil) {
			t.Errorf("%s", text)
		}
	}
	findings := host.Findings()
	if len(findings) != 1 || findings[0].Severity != "error" || findings[0].Plugin != "broken" || findings[0].Fix == "" {
		t.Errorf("findings %+v", findings)
	}
}

func open(t *testing.T, o *patchbay.Options) *patchbay.Host {
	t.Helper()
	if o.Environ == nil {
		o.Environ = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	}
	host, err := patchbay.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return host
}

// names returns the plugins and their states, sorted.
func names(h *patchbay.Host) string {
	var list []string
	for _, p := range h.Plugins() {
		list = append(list, p.Name+":"+string(p.State))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}
