package daemon

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
)

// TestMonitoringStartsNoProcess checks that health, metrics and lists ask no plugin, and that
// plugin info and doctor ask all of them within one deadline.
func TestMonitoringStartsNoProcess(t *testing.T) {
	h := newTestHome(t)
	record := filepath.Join(h.home, "asked")
	names := []string{"one", "two", "three"}
	for _, name := range names {
		dir := ".local/share/mine/plugins/" + name
		h.write(dir+"/mine-plugin.toml", `[plugin]
name = "`+name+`"
version = "1.0.0"
description = "d"
author = "a"
protocol_version = "1.0.0"
`)
		program := h.write(dir+"/mine-plugin-"+name, `#!/bin/sh
read -r line
case "$line" in *'"event":"health"'*) echo "`+name+`" >> '`+record+`'; exec sleep 600 ;; esac
echo '{"status":"ok"}'
`)
		if err := os.Chmod(program, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c := h.open("")
	asked := func() int {
		data, _ := os.ReadFile(record) // no file: no plugin was asked
		return strings.Count(string(data), "\n")
	}
	i := inspect{c}
	if list, err := i.Plugins(t.Context()); err != nil || list == nil {
		t.Fatal(err)
	}
	i.Health(t.Context())
	w := httptest.NewRecorder()
	c.count.all.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if !strings.Contains(w.Body.String(), `patchbay_plugins{dialect="mine",state="ready"} 3`) {
		t.Errorf("metrics:\n%s", w.Body)
	}
	if n := asked(); n != 0 {
		t.Errorf("%d plugins were asked for their health", n)
	}
	ctx := plugtest.NewRipening(t.Context(), time.Second)
	done := make(chan error, 1)
	go func() {
		_, err := i.Doctor(ctx)
		done <- err
	}()
	eventually.True(t, "all plugins are asked, although none answers", func() bool { return asked() == len(names) })
	ctx.Ripen()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := asked(); n != len(names) {
		t.Errorf("doctor asked %d plugins, want %d", n, len(names))
	}
}
