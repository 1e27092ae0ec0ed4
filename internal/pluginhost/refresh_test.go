package pluginhost_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/pythonfile"
)

// ready returns the names of the ready plugins of a host.
func ready(h *pluginhost.Host) []string {
	var names []string
	for _, p := range h.Plugins() {
		if p.State == dialect.Ready {
			names = append(names, p.Name)
		}
	}
	return names
}

func TestRefresh(t *testing.T) {
	home := newTestHome(t)
	home.scaffold("one", "one", 500)
	host := home.open()
	message := func() string {
		t.Helper()
		out, err := host.Fire(t.Context(), hook.TurnInput, json.RawMessage(`{"message":"hi"}`))
		if err != nil {
			t.Fatal(err)
		}
		return string(out.Payload)
	}
	refresh := func(dialects ...string) {
		t.Helper()
		if err := host.Refresh(t.Context(), dialects...); err != nil {
			t.Fatal(err)
		}
	}
	pid := func() int { return *host.Plugins()[0].Pid }
	before := pid()

	home.scaffold("two", "two", 600)
	home.write(".local/scaffold/plugins/zbroken", "#!/bin/sh\nexit 1\n", 0o755)
	refresh("python")
	if got := ready(host); !slices.Equal(got, []string{"one"}) {
		t.Errorf("after a refresh of another dialect: %v", got)
	}
	refresh()
	if got := message(); got != `{"message":"hi one two"}` {
		t.Errorf("a new plugin does not take part: %s", got)
	}
	if !slices.ContainsFunc(host.Tools(), func(tool pluginhost.Tool) bool { return tool.Plugin == "two" }) {
		t.Error("its tool is not listed")
	}
	if pid() != before {
		t.Error("the working plugin was restarted")
	}

	home.scaffold("zbroken", "three", 700)
	refresh()
	if got := message(); got != `{"message":"hi one two three"}` {
		t.Errorf("a broken plugin that was fixed does not take part: %s", got)
	}

	if err := os.Remove(filepath.Join(home.home, ".local/scaffold/plugins/two")); err != nil {
		t.Fatal(err)
	}
	refresh()
	if got := message(); got != `{"message":"hi one three"}` {
		t.Errorf("a removed plugin takes part: %s", got)
	}
	if _, err := host.CallTool(t.Context(), "plugin_two_hello", nil); !errors.Is(err, pluginhost.ErrNotFound) {
		t.Errorf("its tool is still there: %v", err)
	}
}

const footer = `"""Adds a line."""
__plugin__ = {"api": "1.0", "name": "footer"}

@on_final
async def add(ctx, text):
    return text + " END"
`

func TestSources(t *testing.T) {
	home := newTestHome(t)
	host := home.open()
	ctx := t.Context()
	final := func() string {
		t.Helper()
		out, err := host.Fire(hook.WithRequest(ctx, t.Name()), hook.TurnFinal, json.RawMessage(`{"text":"x"}`))
		if err != nil {
			t.Fatal(err)
		}
		return string(out.Payload)
	}
	saved, err := pythonfile.Of(host).Save(ctx, "footer", footer)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(home.home, ".agent/plugins/footer.py"); saved.Path != want || !slices.Equal(saved.Hooks, []string{"on_final"}) {
		t.Errorf("saved %+v, want path %s", saved, want)
	}
	if got := final(); got != `{"text":"x END"}` {
		t.Errorf("a saved plugin does not take part: %s", got)
	}
	if _, err := pythonfile.Of(host).Save(ctx, "footer", strings.ReplaceAll(footer, "END", "FIN")); err != nil {
		t.Fatal(err)
	}
	if got := final(); got != `{"text":"x FIN"}` {
		t.Errorf("the new code does not take part after it was saved: %s", got)
	}
	if there, err := pythonfile.Of(host).Create(ctx, "footer", footer); !errors.Is(err, fs.ErrExist) || there.Path != saved.Path {
		t.Errorf("a file was written over: %+v, %v", there, err)
	}
	_, err = pythonfile.Of(host).Save(ctx, "footer", "def broken(:\n")
	if code, ok := errors.AsType[*pythonfile.CodeError](err); !ok || code.Problem.Line != 1 {
		t.Errorf("code that is not Python: %v", err)
	}
	if got := final(); got != `{"text":"x FIN"}` {
		t.Errorf("the old code does not stay: %s", got)
	}
	if _, err := pythonfile.Of(host).Save(ctx, "other", footer); !errors.Is(err, pythonfile.ErrBadName) {
		t.Errorf("a name that another file has: %v", err)
	}
	if _, err := os.Stat(filepath.Join(home.home, ".agent/plugins/other.py")); err == nil {
		t.Error("the code was saved nevertheless")
	}
	if _, err := pythonfile.Of(host).Save(ctx, "__init__", strings.ReplaceAll(footer, "footer", "x")); !errors.Is(err, pythonfile.ErrBadName) {
		t.Errorf("a name that is left out: %v", err)
	}
	if _, err := os.Stat(filepath.Join(home.home, ".agent/plugins/__init__.py")); err == nil {
		t.Error("the code was saved under a name that is left out")
	}
	if _, err := pythonfile.Of(host).Save(ctx, "../evil", footer); !errors.Is(err, pythonfile.ErrBadName) {
		t.Errorf("a name that escapes: %v", err)
	}

	home.write(".agent/plugins/bad.py", "def broken(:\n", 0o644)
	list, err := pythonfile.Of(host).List(ctx)
	if err != nil || len(list) != 2 || list[0].Name != "bad" || list[0].Err == nil || list[1].Name != "footer" || list[1].Err != nil {
		t.Errorf("a file that was not saved through the host is not listed: %+v, %v", list, err)
	}
	one, err := pythonfile.Of(host).Get(ctx, "footer")
	if err != nil || !strings.Contains(one.Content, "FIN") || !strings.Contains(string(one.Metadata), `"footer"`) {
		t.Errorf("the source: %+v, %v", one, err)
	}
	if err := pythonfile.Of(host).Delete(ctx, "footer"); err != nil {
		t.Fatal(err)
	}
	if got := final(); got != `{"text":"x"}` {
		t.Errorf("a deleted plugin takes part: %s", got)
	}
	if _, err := pythonfile.Of(host).Reload(ctx, "footer"); !errors.Is(err, pluginhost.ErrNotFound) {
		t.Errorf("a deleted plugin is found: %v", err)
	}
}
