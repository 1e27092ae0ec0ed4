package daemon

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// changeConfig asks for a change, which must succeed, and returns the answer.
func (s *served) changeConfig(body string) httpapi.ConfigResult {
	s.t.Helper()
	got := s.do("POST", "/v1/config/changes", body)
	var r httpapi.ConfigResult
	if err := json.Unmarshal([]byte(got.body), &r); err != nil || got.status != 200 {
		s.t.Fatalf("%s: %d %s", body, got.status, got.body)
	}
	return r
}

func (h testHome) config() string {
	h.t.Helper()
	text, err := os.ReadFile(filepath.Join(h.home, ".config/patchbay/config.toml"))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(text)
}

func TestConfigChangesOverHTTP(t *testing.T) {
	h := kagedHome(t)
	const before = "sandbox = \"off\" # mine\n"
	h.write(".config/patchbay/config.toml", before)
	s := h.serve("", Limits{})
	preview := s.changeConfig(`{"changes":[{"set":"priority","plugin":"notes","value":7}],"preview":true}`)
	if preview.Applied || preview.Base == "" || preview.Diff != "--- config.toml\n+++ config.toml\n@@ -1 +1,4 @@\n sandbox = \"off\" # mine\n+\n+[plugins.notes]\n+priority = 7\n" || h.config() != before {
		t.Errorf("preview: %+v\n%s", preview, h.config())
	}
	all := `{"changes":[{"set":"priority","plugin":"notes","value":7},{"set":"config","plugin":"notes","value":{"level":4}},` +
		`{"set":"connect","plugin":"notes","hook":"on_session_start","point":"prompt.context"}],"base":"` + preview.Base + `"}`
	if done := s.changeConfig(all); !done.Applied || done.Base != preview.Base || done.File != filepath.Join(h.home, ".config/patchbay/config.toml") {
		t.Errorf("applied: %+v", done)
	}
	want := before + "\n[plugins.notes]\npriority = 7\n\n[plugins.notes.config]\nlevel = 4\n\n[[connect]]\nplugin = \"notes\"\nhook = \"on_session_start\"\npoint = \"prompt.context\"\n"
	if h.config() != want {
		t.Errorf("the file is\n%s\nwant\n%s", h.config(), want)
	}
	if got := s.do("POST", "/v1/plugins/notes/call", `{"method":"notes.config"}`); !strings.Contains(got.body, `{"level":4}`) {
		t.Errorf("the plugin works with %s", got.body)
	}
	got := s.do("GET", "/v1/plugins/notes", "")
	if !strings.Contains(got.body, `"priority":7`) || !strings.Contains(got.body, `"point":"prompt.context"`) {
		t.Errorf("%s", got.body)
	}
	if got := s.do("POST", "/v1/config/changes", all); got.status != 409 {
		t.Errorf("with the base of another text: %d %s", got.status, got.body)
	}
	s.changeConfig(`{"changes":[{"set":"disconnect","plugin":"notes","hook":"on_session_start","point":"prompt.context"},{"set":"enabled","plugin":"notes","value":false}]}`)
	if got := s.do("GET", "/v1/plugins/notes", ""); !strings.Contains(got.body, `"state":"disabled"`) || strings.Contains(h.config(), "connect") {
		t.Errorf("%s\n%s", got.body, h.config())
	}
	if again := s.changeConfig(`{"changes":[{"set":"enabled","plugin":"notes","value":false}]}`); again.Applied || again.Diff != "" {
		t.Errorf("the same again: %+v", again)
	}
}

func TestConfigChangesAreRefused(t *testing.T) {
	h := kagedHome(t)
	s := h.serve("", Limits{})
	before := h.config()
	many := strings.Repeat(`{"set":"priority","plugin":"notes","value":1},`, 64) + `{"set":"priority","plugin":"notes","value":1}`
	for change, says := range map[string]string{
		`{"set":"capabilities","plugin":"notes","value":["exec"]}`:                        "expected value to be one of",
		`{"set":"sandbox","plugin":"notes","value":"off"}`:                                "expected value to be one of",
		`{"set":"allow_unenforced","plugin":"notes","value":true}`:                        "expected value to be one of",
		`{"set":"enabled","plugin":"notes","value":true,"env":["HOME"]}`:                  "unexpected property",
		`{"set":"config","plugin":"notes","value":{"level":"high"}}`:                      "config.level",
		`{"set":"config","plugin":"notes","value":7}`:                                     "want an object",
		`{"set":"priority","plugin":"nobody","value":7}`:                                  "nobody",
		`{"set":"connect","plugin":"notes","hook":"on_session_start","point":"no.point"}`: "no point",
		`{"set":"connect","plugin":"notes","hook":"nope","point":"prompt.context"}`:       "nope",
		many: "expected array length <= 64",
	} {
		got := s.do("POST", "/v1/config/changes", `{"changes":[`+change+`]}`)
		if got.status != 422 || !strings.Contains(got.body, says) {
			t.Errorf("%.100s: %d %s", change, got.status, got.body)
		}
	}
	if h.config() != before {
		t.Errorf("the file is\n%s", h.config())
	}
}

// TestAChangeThatCannotBeLoadedIsTakenBack checks that file, plugins and health are as they were
// before.
func TestAChangeThatCannotBeLoadedIsTakenBack(t *testing.T) {
	h := kagedHome(t)
	s := h.serve("", Limits{})
	before := h.config()
	h.write(".config/patchbay/secrets.toml", "what is this")
	got := s.do("POST", "/v1/config/changes", `{"changes":[{"set":"enabled","plugin":"notes","value":false}]}`)
	if got.status != 503 || !strings.Contains(got.body, "undone") || h.config() != before {
		t.Errorf("%d %s\n%s", got.status, got.body, h.config())
	}
	if got := s.do("GET", "/v1/plugins/notes", ""); !strings.Contains(got.body, `"state":"ready"`) {
		t.Errorf("%s", got.body)
	}
}

// TestNoSecretIsInADiff checks that the lines around a change show no secret.
func TestNoSecretIsInADiff(t *testing.T) {
	plugtest.NeedTool(t, "sh")
	h := kagedHome(t)
	h.write(".config/patchbay/config.toml", `sandbox = "off"
# api_key = "sk-comment"

[plugins.notes]
priority = 1 # my password: sk-remark
# the old token sk-older, x = y
config = { level = 2, api_key = "sk-old", nested = { password = "sk-deep" }, list = ["--token=sk-list"], url = "https://u:sk-url@example.org/" }

[[mcp]]
name = "far"
command = ["true"]
env = { A = "sk-env" }
`)
	s := h.serve("", Limits{})
	got := s.changeConfig(`{"changes":[{"set":"priority","plugin":"notes","value":2},{"set":"config","plugin":"notes","value":` +
		`{"level":3,"api_key":"sk-new","nested":{"password":"…"},"list":["--token=…"],"url":"https://…@example.org/"}},` +
		`{"set":"enabled","plugin":"far","value":false}]}`)
	if !got.Applied || strings.Contains(got.Diff, "sk-") || !strings.Contains(got.Diff, `+config = { level = 3, api_key = "… (new)", nested = { password = "…" }`) {
		t.Errorf("%+v", got)
	}
	if text := h.config(); !strings.Contains(text, `level = 3, api_key = "sk-new", nested = { password = "sk-deep" }, list = ["--token=sk-list"], url = "https://u:sk-url@example.org/"`) {
		t.Errorf("the file is\n%s", text)
	}
}
