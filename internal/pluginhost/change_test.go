package pluginhost_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

func set(what, value string) pluginhost.ConfigChange {
	return pluginhost.ConfigChange{Set: what, Plugin: "notes", Value: json.RawMessage(value)}
}

func wire(what, hook, point string) pluginhost.ConfigChange {
	return pluginhost.ConfigChange{Set: what, Plugin: "notes", Hook: hook, Point: point}
}

func TestChangeConfig(t *testing.T) {
	const before = "# mine\nsandbox = \"off\"\n\n[plugins.notes]   # notes\npriority = 7 # seven\nconfig = { mode = 'slow', header = \"h\" } # slowly\n\n[chat]\napprove = \"ask\"\n"
	n := newNotebook(t, before)
	host := n.open()
	for _, tc := range []struct {
		rule    string
		changes []pluginhost.ConfigChange
		want    string // the text that replaces the plugin's table
	}{
		{"enabled", []pluginhost.ConfigChange{set("enabled", "false")}, "priority = 7 # seven\nconfig = { mode = 'slow', header = \"h\" } # slowly\nenabled = false\n"},
		{"nothing new", []pluginhost.ConfigChange{set("enabled", "true"), set("priority", "7"), set("config", `{"mode":"slow","header":"h"}`)}, "priority = 7 # seven\nconfig = { mode = 'slow', header = \"h\" } # slowly\n"},
		{"a priority", []pluginhost.ConfigChange{set("priority", "9")}, "priority = 9 # seven\nconfig = { mode = 'slow', header = \"h\" } # slowly\n"},
		{"no priority", []pluginhost.ConfigChange{set("priority", "null")}, "config = { mode = 'slow', header = \"h\" } # slowly\n"},
		{"a config", []pluginhost.ConfigChange{set("config", `{"mode":"fast","level":3}`)}, "priority = 7 # seven\nconfig = { mode = \"fast\", level = 3 } # slowly\n"},
		{"all at once", []pluginhost.ConfigChange{set("priority", "1"), set("config", `{"mode":"fast"}`), set("enabled", "false")},
			"priority = 1 # seven\nconfig = { mode = \"fast\" } # slowly\nenabled = false\n"},
	} {
		edit, err := host.PreviewConfig(tc.changes)
		want := strings.Replace(before, "priority = 7 # seven\nconfig = { mode = 'slow', header = \"h\" } # slowly\n", tc.want, 1)
		if err != nil || string(edit.New) != want || edit.File != n.config || string(edit.Old) != before {
			t.Errorf("%s: %v\n%s\nwant\n%s", tc.rule, err, edit.New, want)
		}
	}
	if n.read(n.config) != before {
		t.Fatal("a preview has written the file")
	}
}

func TestChangeConfigRefuses(t *testing.T) {
	const before = "sandbox = \"off\"\n"
	n := newNotebook(t, before)
	host := n.open()
	for _, tc := range []struct {
		change pluginhost.ConfigChange
		says   string
	}{
		{set("capabilities", "[]"), "cannot be set"},
		{set("allow_unenforced", "true"), "cannot be set"},
		{set("limits", "{}"), "cannot be set"},
		{set("env", "[]"), "cannot be set"},
		{set("", "1"), "cannot be set"},
		{set("enabled", `"yes"`), "true or false"},
		{set("enabled", "null"), "true or false"},
		{set("priority", "1.5"), "whole number"},
		{set("priority", "10000000"), "whole number"},
		{set("config", "[]"), "want an object"},
		{set("config", "null"), "want an object"},
		{set("config", `{"level":10}`), "config.level: must be at most 9"},
		{set("config", `{"header":null}`), "config.header"},
		{set("config", `{"header":"…"}`), "not shown"},
		{wire("connect", "nope", "tool.before"), "nope"},
		{wire("connect", "nope", "no.point"), "no point"},
		{wire("disconnect", "nope", "tool.before"), "no [[connect]]"},
	} {
		_, err := host.ChangeConfig([]pluginhost.ConfigChange{set("priority", "3"), tc.change}, "")
		if !errors.Is(err, pluginhost.ErrBadChange) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%+v: %v, want %q", tc.change, err, tc.says)
		}
	}
	if _, err := host.ChangeConfig([]pluginhost.ConfigChange{{Set: "enabled", Plugin: "nobody", Value: json.RawMessage("true")}}, ""); !errors.Is(err, pluginhost.ErrNotFound) {
		t.Errorf("an unknown plugin: %v", err)
	}
	if n.read(n.config) != before {
		t.Errorf("the file is\n%s", n.read(n.config))
	}
}

func TestAChangedFileIsNotOverwritten(t *testing.T) {
	n := newNotebook(t, "sandbox = \"off\"\n")
	host := n.open()
	preview, err := host.PreviewConfig([]pluginhost.ConfigChange{set("priority", "3")})
	if err != nil {
		t.Fatal(err)
	}
	n.put(n.config, "sandbox = \"off\" # changed\n")
	if _, err := host.ChangeConfig([]pluginhost.ConfigChange{set("priority", "3")}, preview.Base()); !errors.Is(err, pluginhost.ErrBase) {
		t.Errorf("with another text: %v", err)
	}
	preview, err = host.PreviewConfig([]pluginhost.ConfigChange{set("priority", "3")})
	if err != nil {
		t.Fatal(err)
	}
	edit, err := host.ChangeConfig([]pluginhost.ConfigChange{set("priority", "3")}, preview.Base())
	if err != nil || !edit.Written || n.read(n.config) != string(preview.New) || n.read(edit.Backup) != "sandbox = \"off\" # changed\n" {
		t.Fatalf("%+v, %v", edit, err)
	}
	if err := edit.Undo(); err != nil || n.read(n.config) != "sandbox = \"off\" # changed\n" {
		t.Errorf("undone: %v\n%s", err, n.read(n.config))
	}
	if err := os.WriteFile(n.config, []byte("# mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := edit.Undo(); !errors.Is(err, pluginhost.ErrChangedAgain) || n.read(n.config) != "# mine\n" {
		t.Errorf("Undo overwrote a later change: %v\n%s", err, n.read(n.config))
	}
}

// TestDeclaredSecretsAreNotShown: a value that the schema declares as a password is never shown,
// and can be set.
func TestDeclaredSecretsAreNotShown(t *testing.T) {
	n := newNotebook(t, "sandbox = \"off\"\n\n[plugins.notes.config]\nheader = \"hush-hush\"\nlevel = 2\n")
	n.put(filepath.Join(n.home, ".local/share/kaged/plugins/notes/manifest.yaml"), strings.Replace(notesManifest, "header: {type: string}", "header: {type: string, format: password}", 1))
	host := n.open()
	p, err := host.Plugin("notes")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(p)
	if err != nil || strings.Contains(string(text), "hush-hush") || p.Config["header"] != "…" || p.ConfigUser["header"] != "…" || p.ConfigFrom["header"] != "user" || !p.Enabled ||
		!strings.Contains(string(p.ConfigSchema), `"format":"password"`) || p.Manifest == nil || !strings.Contains(p.Manifest.Text, "kaged_api: 1") {
		t.Errorf("%v: %s", err, text)
	}
	if _, err := host.SetKnob(t.Context(), "notes", pluginhost.KnobSetting{Key: "header", Value: json.RawMessage(`"…"`)}); !errors.Is(err, pluginhost.ErrBadValue) {
		t.Errorf("the placeholder was accepted as a value: %v", err)
	}
	change, err := host.SetKnob(t.Context(), "notes", pluginhost.KnobSetting{Key: "header", Value: json.RawMessage(`"psst-psst"`)})
	if err != nil || string(change.Knob.Value) != `"…"` || !strings.Contains(n.read(n.config), "psst-psst") {
		t.Errorf("%+v, %v", change, err)
	}
}

func TestASecretOfAConfigStays(t *testing.T) {
	n := newNotebook(t, "sandbox = \"off\"\n\n[plugins.notes.config]\nheader = \"h\" # it\napi_token = \"hush-hush\"\nurl = \"https://me:pw@example.org/x\"\n")
	host := n.open()
	edit, err := host.PreviewConfig([]pluginhost.ConfigChange{set("config", `{"header":"new","api_token":"…","url":"https://…@example.org/x"}`)})
	if err != nil || !strings.Contains(string(edit.New), "header = \"new\" # it\napi_token = \"hush-hush\"\nurl = \"https://me:pw@example.org/x\"\n") {
		t.Errorf("%v\n%s", err, edit.New)
	}
	if _, err := host.PreviewConfig([]pluginhost.ConfigChange{set("config", `{"url":"https://…@example.com/x"}`)}); err == nil || !strings.Contains(err.Error(), "config.url") {
		t.Errorf("a changed value of which a part is hidden: %v", err)
	}
	if _, err := host.PreviewConfig([]pluginhost.ConfigChange{set("config", `{"header":"and so on…"}`)}); err != nil {
		t.Errorf("a placeholder at a value that is not hidden: %v", err)
	}
	if _, err := host.PreviewConfig([]pluginhost.ConfigChange{set("config", `{"header":"…"}`)}); err == nil || !strings.Contains(err.Error(), "config.header") {
		t.Errorf("a value that is not a secret: %v", err)
	}
}

// TestChangeConfigIsBounded: a small request must not change many values, because each change reads
// the whole file again.
func TestChangeConfigIsBounded(t *testing.T) {
	n := newNotebook(t, "sandbox = \"off\"\n")
	host := n.open()
	many := func(from, count int) pluginhost.ConfigChange {
		fields := make(map[string]int)
		for i := range count {
			fields[fmt.Sprint("k", from+i)] = i
		}
		text, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		return set("config", string(text))
	}
	deep := set("config", strings.Repeat(`{"a":`, 9000)+"1"+strings.Repeat("}", 9000))
	lists := set("config", `{"a":`+strings.Repeat("[", 9000)+strings.Repeat("]", 9000)+"}")
	for rule, changes := range map[string][]pluginhost.ConfigChange{
		"in one change": {many(0, 400)},
		"in several":    {many(0, 100), many(100, 100), many(200, 100)},
		"nested deep":   {deep},
		"deep lists":    {lists},
	} {
		if _, err := host.PreviewConfig(changes); !errors.Is(err, pluginhost.ErrBadChange) || !strings.Contains(err.Error(), "by hand") {
			t.Errorf("%s: %.200v", rule, err)
		}
	}
}
