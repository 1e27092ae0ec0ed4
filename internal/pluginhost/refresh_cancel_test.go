package pluginhost_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// onLog calls do with the message of each log record.
type onLog struct {
	do func(message string, r slog.Record)
}

func (onLog) Enabled(context.Context, slog.Level) bool        { return true }
func (l onLog) Handle(_ context.Context, r slog.Record) error { l.do(r.Message, r); return nil }
func (l onLog) WithAttrs([]slog.Attr) slog.Handler            { return l }
func (l onLog) WithGroup(string) slog.Handler                 { return l }

// TestACancelledRefreshChangesNothing: a refresh that is cancelled at any moment leaves the host as
// it was. Working plugins go on, and new ones are closed.
func TestACancelledRefreshChangesNothing(t *testing.T) {
	stages := []struct {
		name   string
		second func(home testHome) // installs the new plugin
		cancel func(home testHome, cancel func(), ready <-chan struct{})
	}{
		{"before the start", func(home testHome) { home.scaffold("two", "two", 600) },
			func(_ testHome, cancel func(), _ <-chan struct{}) { cancel() }},
		{"during the start", installSlow,
			func(home testHome, cancel func(), _ <-chan struct{}) {
				go func() {
					await(home.t, "the slow plugin", func() bool { _, err := os.Stat(filepath.Join(home.home, "started")); return err == nil })
					cancel()
				}()
			}},
		{"after the start", func(home testHome) { home.scaffold("two", "two", 600) },
			func(_ testHome, cancel func(), ready <-chan struct{}) { go func() { <-ready; cancel() }() }},
	}
	for _, stage := range stages {
		t.Run(stage.name, func(t *testing.T) {
			home := newTestHome(t)
			home.scaffold("one", "one", 500)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ready, cancelled := make(chan struct{}), false
			o := home.options()
			o.Logger = slog.New(onLog{func(message string, r slog.Record) {
				if message == "plugin ready" && nameOf(r) == "two" && !cancelled {
					cancelled = true
					close(ready)
					<-ctx.Done() // cancelled when all plugins have started
				}
			}})
			host := home.openWith(o)
			pid := *host.Plugins()[0].Pid
			stage.second(home)
			stage.cancel(home, cancel, ready)
			if err := host.Refresh(ctx); !errors.Is(err, context.Canceled) {
				t.Fatalf("err = %v", err)
			}
			wantUnchanged(t, host, pid)
			home.scaffold("two", "two", 600)
			if err := host.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := message(t, host); got != "hi one two" || *host.Plugins()[0].Pid != pid {
				t.Errorf("after another refresh the message is %q", got)
			}
		})
	}
}

func nameOf(r slog.Record) (name string) {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "name" {
			name = a.Value.String()
		}
		return true
	})
	return name
}

// installSlow installs a plugin that reports its start and then does not answer.
func installSlow(home testHome) {
	home.write(".local/scaffold/plugins/two", "#!/bin/sh\necho > '"+home.home+"/started'\nexec sleep 60\n", 0o755)
}

// wantUnchanged checks that the first plugin works in the same process and is the only one.
func wantUnchanged(t *testing.T, host *pluginhost.Host, pid int) {
	t.Helper()
	if got := message(t, host); got != "hi one" {
		t.Errorf("the message is %q", got)
	}
	if got := states(host); got != "one:ready" {
		t.Errorf("plugins: %s", got)
	}
	if now := *host.Plugins()[0].Pid; now != pid {
		t.Errorf("its process was %d and is %d", pid, now)
	}
	if r, err := host.CallTool(t.Context(), "plugin_one_hello", nil); err != nil || r.Result != "hello from one" {
		t.Errorf("its tool: %v, %v", r, err)
	}
}

// TestAFailedRefreshChangesNothing: a refresh that fails leaves the host as it was.
func TestAFailedRefreshChangesNothing(t *testing.T) {
	home := newTestHome(t)
	home.scaffold("one", "one", 500)
	home.config("[[connect]]\nplugin = \"two\"\nhook = \"no_such_hook\"\npoint = \"turn.final\"\n")
	host := home.open()
	pid := *host.Plugins()[0].Pid
	home.scaffold("two", "two", 600)
	if err := host.Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), "no_such_hook") {
		t.Fatalf("err = %v", err)
	}
	wantUnchanged(t, host, pid)
}

func await(t *testing.T, what string, ok func() bool) {
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("timed out waiting for %s", what)
			return
		}
	}
}
