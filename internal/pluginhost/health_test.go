package pluginhost_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// sleepers installs mine plugins that record their calls, and hang when they are asked for their
// health.
func (h testHome) sleepers(names ...string) {
	for _, name := range names {
		dir := ".local/share/mine/plugins/" + name
		h.write(dir+"/mine-plugin.toml", fmt.Sprintf(`[plugin]
name = %q
version = "1.0.0"
description = "d"
author = "a"
protocol_version = "1.0.0"
[[hooks]]
command = "*"
stage = "preexec"
mode = "transform"
`, name), 0o644)
		h.write(dir+"/mine-plugin-"+name, `#!/bin/sh
read -r line
echo "`+name+` $line" >> '`+filepath.Join(h.home, "asked")+`'
case "$line" in *'"event":"health"'*) exec sleep 600 ;; esac
echo '{"status":"ok"}'
`, 0o755)
	}
}

// asked returns the plugins that were asked for their health.
func (h testHome) asked() []string {
	data, _ := os.ReadFile(filepath.Join(h.home, "asked")) // the file is missing if none was asked
	var names []string
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, `"event":"health"`) {
			names = append(names, strings.Fields(line)[0])
		}
	}
	return names
}

// TestListingAsksNoPlugin: lists, counters and the doctor answer from memory and call no plugin.
func TestListingAsksNoPlugin(t *testing.T) {
	home := newTestHome(t)
	home.sleepers("one", "two", "three")
	host := home.open()
	if got := states(host); got != "one:ready three:ready two:ready" {
		t.Fatalf("plugins: %s", got)
	}
	host.Counters()
	host.Doctor()
	host.Tools()
	d, err := host.Plugin("one")
	if err != nil || d.Health != "unknown" {
		t.Errorf("health %q, %v", d.Health, err)
	}
	if got := home.asked(); got != nil {
		t.Errorf("asked for their health: %v", got)
	}
}

// TestHealthHasOneDeadlineForAll: all plugins are asked for their health in parallel, within one
// deadline.
func TestHealthHasOneDeadlineForAll(t *testing.T) {
	home := newTestHome(t)
	home.sleepers("one", "two", "three")
	host := home.open()
	t.Run("of one plugin; the others are not asked", func(t *testing.T) {
		home.hanging(1, func(ctx context.Context) error { return host.CheckHealth(ctx, "two") })
		if got := home.asked(); len(got) != 1 || got[0] != "two" {
			t.Errorf("asked: %v", got)
		}
		wantHealth(t, host, "two", "no answer to health")
		wantHealth(t, host, "one", "unknown")
	})
	t.Run("of all plugins", func(t *testing.T) {
		home.hanging(4, func(ctx context.Context) error { return host.CheckHealth(ctx) })
		if got := home.asked(); len(got) != 4 {
			t.Errorf("asked: %v", got)
		}
		for _, name := range []string{"one", "two", "three"} {
			wantHealth(t, host, name, "no answer to health")
		}
	})
	t.Run("of an unknown plugin", func(t *testing.T) {
		if err := host.CheckHealth(t.Context(), "nobody"); err == nil {
			t.Error("no error")
		}
	})
}

// hanging calls f, and lets its deadline pass as soon as the plugins were asked for their health n
// times in all. If they were asked one after another, this would never happen, because the first
// one hangs.
func (h testHome) hanging(n int, f func(context.Context) error) {
	h.t.Helper()
	ctx := plugtest.NewRipening(h.t.Context(), time.Second)
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	for end := time.Now().Add(time.Minute); len(h.asked()) < n && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
	}
	ctx.Ripen()
	if err := <-done; err != nil {
		h.t.Fatal(err)
	}
}

func wantHealth(t *testing.T, host *pluginhost.Host, name, want string) {
	t.Helper()
	if d, err := host.Plugin(name); err != nil || !strings.HasPrefix(d.Health, want) {
		t.Errorf("health of %s: %q, %v; want %q", name, d.Health, err, want)
	}
}

// waitUntil waits until happened returns true.
func waitUntil(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if happened() {
			return
		}
	}
	t.Fatalf("timed out waiting until %s", what)
}
