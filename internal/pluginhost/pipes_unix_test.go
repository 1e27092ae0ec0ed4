//go:build unix

package pluginhost_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/pythonfile"
)

// pipe makes a named pipe without a writer.
func (h testHome) pipe(path string) string {
	h.t.Helper()
	path = filepath.Join(h.home, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o755); err != nil {
		h.t.Fatal(err)
	}
	return path
}

// soon fails the test if do does not return soon.
func soon(t *testing.T, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("the host waits for a writer of the pipe")
	}
}

// TestNothingWaitsForAPipe: a named pipe in place of a file is an error at once.
func TestNothingWaitsForAPipe(t *testing.T) {
	t.Run("the host's own files", func(t *testing.T) {
		for _, file := range []string{".config/patchbay/config.toml", ".config/patchbay/secrets.toml"} {
			h := newTestHome(t)
			path := h.pipe(file)
			soon(t, func() {
				host, err := pluginhost.Open(t.Context(), h.options())
				if err == nil {
					host.Close()
				}
				if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "named pipe") {
					t.Errorf("%s: %v", file, err)
				}
			})
		}
	})
	for _, file := range []string{".local/share/kaged/plugins/p/manifest.yaml", ".local/share/kaged/plugins/p/kaged-plugin.yaml",
		".local/share/mine/plugins/p/mine-plugin.toml", ".config/dotagent/plugins/dotagent-plugin-p"} {
		t.Run(file, func(t *testing.T) {
			h := newTestHome(t)
			path := h.pipe(file)
			soon(t, func() {
				host := h.open()
				if got := states(host); got != "p:broken" && got != ":broken" {
					t.Errorf("states %q", got)
				}
				if f := host.Doctor(); len(f) != 1 || f[0].Severity != pluginhost.SeverityError || !strings.Contains(f[0].Problem+f[0].Where, path) {
					t.Errorf("%+v", f)
				}
			})
		})
	}
	for _, file := range []string{".local/scaffold/plugins/p", ".agent/plugins/p.py"} {
		t.Run(file+" is ignored", func(t *testing.T) {
			h := newTestHome(t)
			path := h.pipe(file)
			soon(t, func() {
				if got := states(h.open()); got != "" {
					t.Errorf("states %q", got)
				}
				o := h.options()
				o.Paths = []string{path}
				if host, err := pluginhost.Open(t.Context(), o); err == nil {
					host.Close()
					t.Error("named by its path, it is a plugin")
				}
			})
		})
	}
	t.Run("a plugin's code that was replaced", func(t *testing.T) {
		plugtest.NeedTool(t, "python3")
		h := newTestHome(t)
		h.write(".agent/plugins/p.py", "@on_begin\ndef b(ctx): pass\n", 0o644)
		host := h.open()
		if err := os.Remove(filepath.Join(h.home, ".agent/plugins/p.py")); err != nil {
			t.Fatal(err)
		}
		h.pipe(".agent/plugins/p.py")
		soon(t, func() {
			if p := host.Plugins(); len(p) != 1 || p[0].State != dialect.Ready {
				t.Errorf("%+v", p)
			}
			if _, err := pythonfile.Of(host).Reload(t.Context(), "p"); err == nil {
				t.Error("the replaced code was loaded")
			}
		})
	})
}
