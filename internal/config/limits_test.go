package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/config"
)

func load(t *testing.T, text string) (*config.Config, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Load(file)
}

// TestLimits: every limit is read in its unit, and an invalid value is an error that names the key.
func TestLimits(t *testing.T) {
	c, err := load(t, `[plugins.notes.limits]
memory = "256MB"
processes = 20
open_files = 100
cpu_time = "10m"
output = "1MB"
storage = "128MB"
storage_keys = 500
`)
	if err != nil {
		t.Fatal(err)
	}
	want := config.Limits{Memory: 256 << 20, Processes: 20, OpenFiles: 100, CPUTime: 10 * time.Minute, Output: 1 << 20, Storage: 128 << 20, StorageKeys: 500}
	if got := c.Plugins["notes"].Limits; got != want {
		t.Errorf("limits %+v, want %+v", got, want)
	}
	for _, bad := range []string{`storage = "much"`, `storage = 5`, `storage = "0MB"`, `storage_keys = 0`, `storage_keys = "many"`} {
		_, err := load(t, "[plugins.notes.limits]\n"+bad+"\n")
		if name, _, _ := strings.Cut(bad, " "); err == nil || !strings.Contains(err.Error(), "plugins.notes.limits."+name) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
