package webtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestFirstTurn follows the README from `patchbay serve` to the trace of a first turn, step by
// step, with only the plugin that the README writes. The README promises twenty seconds.
func TestFirstTurn(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(repo, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "plugins/shout <<'EOF'\n")
	plugin, _, ok := strings.Cut(rest, "EOF\n")
	if !ok {
		t.Fatal("the README no longer writes a plugin")
	}
	s := &site{t: t, Home: t.TempDir()}
	s.write(".local/scaffold/plugins/shout", plugin)
	if err := os.Chmod(filepath.Join(s.Home, ".local/scaffold/plugins/shout"), 0o755); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	s.start("127.0.0.1:0")
	t.Cleanup(s.stop)
	p := newTab(t, s, "/")
	p.click("=Chat")
	p.click("=New session")
	p.click("=Begin")
	p.until("the field", `document.querySelector('#message')`)
	p.fill("#message", "hello")
	p.press("\r")
	p.seeIn("[data-change=shout]", "HELLO")
	p.click("aside a[href^='/trace/ses_']")
	p.click("[data-plugin=shout]")
	p.seeIn("[data-step=shout]", "HELLO")
	t.Logf("%s from patchbay serve to the trace", time.Since(began).Round(100*time.Millisecond))
	p.picture("first-turn")
}
