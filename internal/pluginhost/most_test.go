package pluginhost_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// TestMoreThanSixteenAreSkippedWithTheReason: at most 16 plugins run, and files that do not work do
// not count: docs/protocols/scaffold.md.
func TestMoreThanSixteenAreSkippedWithTheReason(t *testing.T) {
	home := newTestHome(t)
	for i := range 20 {
		home.scaffold(fmt.Sprintf("p%02d", i), fmt.Sprintf("p%02d", i), 500)
	}
	home.write(".local/scaffold/plugins/p01", "#!/bin/sh\nexit 1\n", 0o755) // broken
	home.scaffold("p02", "p03", 500)                                        // it calls itself by the name of another file
	home.write(".config/patchbay/config.toml", "[plugins.p00]\nenabled = false\n[plugins.p19]\non_failure = \"deny\"\n", 0o600)
	host := home.open()

	states := func() (running []string, skipped []pluginhost.PluginInfo) {
		for _, p := range host.Plugins() {
			switch p.State {
			case dialect.Ready:
				running = append(running, p.Name)
			case dialect.Skipped:
				skipped = append(skipped, p)
			}
		}
		return running, skipped
	}
	running, skipped := states()
	if len(running) != 16 || running[0] != "p03" || running[15] != "p18" {
		t.Errorf("%d plugins run: %v; the disabled one, the broken one and the one whose name is taken must not count", len(running), running)
	}
	if len(skipped) != 1 || skipped[0].Name != "p19" || skipped[0].Error == nil || !strings.Contains(*skipped[0].Error, "scaffold allows at most 16 plugins") ||
		!strings.Contains(*skipped[0].Error, "patchbay plugin disable") {
		t.Errorf("skipped are %+v", skipped)
	}

	if closed := host.Closed(hook.ToolBefore); !slices.Equal(closed, []string{"p19"}) {
		t.Errorf("without %v events are refused, want p19: its on_failure says so", closed)
	}
	if i := slices.IndexFunc(host.Doctor(), func(f pluginhost.Finding) bool { return f.Plugin == "p19" }); i < 0 ||
		host.Doctor()[i].Fix != "disable one of them with `patchbay plugin disable NAME`, or remove it" {
		t.Errorf("findings %+v", host.Doctor())
	}

	if err := os.Remove(filepath.Join(home.home, ".local/scaffold/plugins/p10")); err != nil {
		t.Fatal(err)
	}
	if err := host.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if running, skipped = states(); len(running) != 16 || !slices.Contains(running, "p19") || len(skipped) != 0 {
		t.Errorf("after one was removed: running %v, skipped %+v", running, skipped)
	}
}

// TestAFixNamesAPathForAPluginThatIsNotInstalled: no command finds such a plugin by its name.
func TestAFixNamesAPathForAPluginThatIsNotInstalled(t *testing.T) {
	home := newTestHome(t)
	home.write("my plugins/nameless", "#!/bin/sh\nread -r line\necho '{\"id\":1,\"result\":[]}'\n", 0o755)
	opts, path := home.options(), filepath.Join(home.home, "my plugins", "nameless")
	opts.NoSearch, opts.Paths = true, []string{path}
	host := home.openWith(opts)
	findings := host.Doctor()
	if len(findings) != 1 || !strings.Contains(findings[0].Fix, "`patchbay plugin test '"+path+"'`") {
		t.Errorf("findings %+v", findings)
	}
}
