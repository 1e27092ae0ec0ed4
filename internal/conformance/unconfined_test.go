package conformance

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
)

// TestNoSandbox: without a sandbox, a plugin that must be confined is not run, unless the tester
// allows it.
func TestNoSandbox(t *testing.T) {
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	for name, text := range map[string]string{
		"manifest.yaml": "name: free\nversion: 1.0.0\nkaged_api: 1\ndescription: d\ncommand: [sh, run.sh]\ncapabilities: []\nhooks: [on_session_start]\n",
		"run.sh":        "touch " + ran + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	target, err := At(dir, "kaged", dialect.Env{Vars: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	none := errors.New("none here")
	o := Options{Environ: os.Environ(), Log: testLog(t), Only: []string{"kaged.handshake.answer"},
		system: &sandbox.System{Namespaces: none, Landlock: none, Filter: none}}
	if r, err := Run(t.Context(), target, o); !errors.Is(err, none) {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the plugin ran without a sandbox")
	}
	o.Bare = true
	if _, err := Run(t.Context(), target, o); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(ran); err != nil {
		t.Error("the plugin did not run: ", err)
	}
}
