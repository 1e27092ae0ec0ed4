//go:build unix

package pluginhost_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// pidOf returns the process of a plugin, or 0.
func pidOf(h *pluginhost.Host, name string) int {
	for _, p := range h.Plugins() {
		if p.Name == name && p.Pid != nil {
			return *p.Pid
		}
	}
	return 0
}

func reload(t *testing.T, h *pluginhost.Host) {
	t.Helper()
	if err := h.Reload(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
}

func TestReload(t *testing.T) {
	home := newTestHome(t)
	home.scaffold("one", "one", 500)
	home.scaffold("two", "two", 600)
	host := home.open()
	one, two := pidOf(host, "one"), pidOf(host, "two")

	t.Run("the new configuration applies, and the other plugins go on undisturbed", func(t *testing.T) {
		home.config("[plugins.two]\npriority = 10\n")
		reload(t, host)
		if got := message(t, host); got != "hi two one" {
			t.Errorf("got %q", got)
		}
		if pidOf(host, "one") != one || pidOf(host, "two") == two {
			t.Errorf("one is %d and was %d, two is %d and was %d", pidOf(host, "one"), one, pidOf(host, "two"), two)
		}
		home.config("[plugins.two]\nenabled = false\n")
		reload(t, host)
		if got := message(t, host); got != "hi one" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("a bad file keeps everything as it was", func(t *testing.T) {
		for _, bad := range []string{"[plugins.two\n", "[[connect]]\nplugin = \"one\"\nhook = \"post_user_input\"\npoint = \"turn.nowhere\"\n"} {
			home.config(bad)
			if err := host.Reload(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "config.toml:") {
				t.Errorf("%q: error %v", bad, err)
			}
			if got := message(t, host); got != "hi one" || pidOf(host, "one") != one {
				t.Errorf("%q: got %q", bad, got)
			}
		}
		home.config("")
		home.write(".config/patchbay/secrets.toml", "X = 1\n", 0o600)
		if err := host.Reload(t.Context(), nil); err == nil || pidOf(host, "one") != one {
			t.Errorf("a bad secrets file: %v", err)
		}
		home.secrets("")
		reload(t, host)
		if got := message(t, host); got != "hi one two" {
			t.Errorf("fixed: got %q", got)
		}
	})
	t.Run("a plugin whose file has changed is started anew", func(t *testing.T) {
		home.scaffold("two", "two", 400)
		reload(t, host)
		if got := message(t, host); got != "hi two one" || pidOf(host, "one") != one {
			t.Errorf("got %q", got)
		}
	})
	t.Run("a plugin whose new file does not work goes on, which is a finding until it is fixed", func(t *testing.T) {
		two := pidOf(host, "two")
		home.write(".local/scaffold/plugins/two", "#!/bin/sh\nexit 1\n", 0o755)
		reload(t, host)
		if got := message(t, host); got != "hi two one" || pidOf(host, "two") != two {
			t.Errorf("got %q", got)
		}
		kept := func(f pluginhost.Finding) bool {
			return f.Plugin == "two" && f.Severity == pluginhost.SeverityError && strings.Contains(f.Problem, "goes on as it was")
		}
		if !slices.ContainsFunc(host.Doctor(), kept) {
			t.Errorf("no finding: %+v", host.Doctor())
		}
		home.scaffold("two", "two", 700)
		reload(t, host)
		if got := message(t, host); got != "hi one two" || slices.ContainsFunc(host.Doctor(), kept) {
			t.Errorf("got %q, %+v", got, host.Doctor())
		}
	})
}

// TestReloadLosesNoEvent: an event in progress finishes with the plugins it began with, also with
// those that it has not called yet. They are closed after it.
func TestReloadLosesNoEvent(t *testing.T) {
	home := newTestHome(t)
	home.write(".local/scaffold/plugins/slow", `#!/bin/sh
while IFS= read -r line; do
  id=${line##*'"id":'} id=${id%\}}
  case "$line" in
  *'"method":"initialize"'*) result='{"name":"slow","hooks":["post_user_input"],"priority":100}' ;;
  *post_user_input*) touch "$HOME/asked"; until [ -e "$HOME/go" ]; do sleep 0.01; done; result='{"message":"slow"}' ;;
  *) result='{"ok":true}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
`, 0o755)
	home.scaffold("two", "two", 600)
	home.config("[plugins.slow]\ntimeout = \"2m\"\n")
	host := home.open()
	old := pidOf(host, "two")
	type result struct {
		out *hook.Outcome
		err error
	}
	done := make(chan result, 1)
	go func() {
		out, err := host.Fire(context.Background(), hook.TurnInput, json.RawMessage(`{"message":"hi"}`))
		done <- result{out, err}
	}()
	waitUntil(t, "the slow plugin is asked", func() bool { _, err := os.Stat(filepath.Join(home.home, "asked")); return err == nil })

	home.config("[plugins.slow]\ntimeout = \"2m\"\n[plugins.two]\npriority = 700\n")
	reload(t, host)
	home.config("[plugins.slow]\nenabled = false\n[plugins.two]\npriority = 700\n")
	reload(t, host)
	if got := message(t, host); got != "hi two" {
		t.Errorf("an event that begins now: %q", got)
	}
	if !alive(old) {
		t.Error("a plugin that the event has not called yet was ended")
	}
	home.write("go", "", 0o644)
	r := <-done
	if r.err != nil || len(r.out.Steps) != 2 || string(r.out.Payload) != `{"message":"slow two"}` {
		t.Errorf("the event that was under way: %+v, %v", r.out, r.err)
	}
	waitUntil(t, "the old plugin is ended", func() bool { return !alive(old) })
}

// TestReloadOfPython: a python plugin that is opened again is loaded, although the old one shares
// its interpreter.
func TestReloadOfPython(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	home := newTestHome(t)
	home.write(".agent/plugins/signer.py", "\"\"\"Signs.\"\"\"\n__plugin__ = {\"api\": \"1.0\", \"name\": \"signer\"}\n\n@on_final\nasync def sign(ctx, text):\n    return text + \" Signed.\"\n", 0o644)
	host := home.open()
	for _, text := range []string{"", "[plugins.signer]\npriority = 10\n", "[plugins.signer]\ntimeout = \"4s\"\n"} {
		home.config(text)
		reload(t, host)
		out, err := host.Fire(t.Context(), hook.TurnFinal, json.RawMessage(`{"text":"hi"}`))
		if err != nil || string(out.Payload) != `{"text":"hi Signed."}` {
			t.Errorf("%q: %+v, %v", text, out, err)
		}
	}
	if got := ready(host); !slices.Equal(got, []string{"signer"}) || host.Plugins()[0].State != dialect.Ready {
		t.Errorf("%v", got)
	}
}

// alive reports whether a process exists.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }
