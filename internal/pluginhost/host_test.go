package pluginhost_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/storage"
)

func TestMain(m *testing.M) {
	if name, ok := strings.CutPrefix(filepath.Base(os.Args[0]), watcherPrefix); ok {
		watch(name)
		syscall.Exit(0) // os.Exit takes a second under the race detector
	}
	goleak.VerifyTestMain(m)
}

// A testHome is a home directory for a test, with plugins in it.
type testHome struct {
	t    *testing.T
	home string
}

func newTestHome(t *testing.T) testHome { return testHome{t, t.TempDir()} }

func (h testHome) write(path, text string, mode os.FileMode) {
	h.t.Helper()
	path = filepath.Join(h.home, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		h.t.Fatal(err)
	}
}

// config writes config.toml.
func (h testHome) config(text string) { h.write(".config/patchbay/config.toml", text, 0o600) }

// scaffold installs a plugin that adds its name to the message and has the tool "hello".
func (h testHome) scaffold(file, name string, priority int) {
	h.write(".local/scaffold/plugins/"+file, fmt.Sprintf(`#!/bin/sh
while IFS= read -r line; do
  id=${line##*'"id":'} id=${id%%\}}
  case "$line" in
  *'"method":"initialize"'*) result='{"name":"%[1]s","hooks":["post_user_input"],"priority":%[2]d,"tools":[{"name":"hello"}]}' ;;
  *post_user_input*)
    [ -n "$FAIL_ME" ] && exit 1
    message=${line##*'"message":"'} message=${message%%%%'"'*}
    result='{"message":"'$message' %[1]s"}' ;;
  *tool/execute*) result='{"success":true,"result":"hello from %[1]s"}' ;;
  *) result='{"ok":true}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%%s,"result":%%s}\n' "$id" "$result"
done
`, name, priority), 0o755)
}

func (h testHome) options() *pluginhost.Options {
	return &pluginhost.Options{Dir: h.home,
		Environ: []string{"HOME=" + h.home, "PATH=" + os.Getenv("PATH"), "FAIL_ME=1"}}
}

func (h testHome) open() *pluginhost.Host { return h.openWith(h.options()) }

func (h testHome) openWith(o *pluginhost.Options) *pluginhost.Host {
	h.t.Helper()
	if o.Storage == nil {
		o.Storage = h.storage(o)
	}
	host, err := pluginhost.Open(h.t.Context(), o)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		if err := host.Close(); err != nil {
			h.t.Errorf("close: %v", err)
		}
	})
	return host
}

// storage returns the storage that the patchbay command uses.
func (h testHome) storage(o *pluginhost.Options) func(string, dialect.StorageQuota) dialect.Storage {
	own := storage.NewOwn(dialect.Env{Vars: o.Environ}.Get, o.ConfigFile, o.Logger)
	h.t.Cleanup(func() {
		if err := own.Close(); err != nil {
			h.t.Errorf("close the storage: %v", err)
		}
	})
	return func(plugin string, quota dialect.StorageQuota) dialect.Storage {
		return own.Plugin(plugin, storage.Quota(quota))
	}
}

// message fires turn.input and returns the resulting message.
func message(t *testing.T, host *pluginhost.Host) string {
	t.Helper()
	out, err := host.Fire(t.Context(), hook.TurnInput, json.RawMessage(`{"message":"hi"}`))
	if err != nil {
		t.Fatal(err)
	}
	var payload struct{ Message string }
	if err := json.Unmarshal(out.Payload, &payload); err != nil {
		t.Fatal(err)
	}
	return payload.Message
}

func states(host *pluginhost.Host) string {
	var out []string
	for _, p := range host.Plugins() {
		out = append(out, p.Name+":"+string(p.State))
	}
	return strings.Join(out, " ")
}

func TestOpenFindsNothingInAnEmptyHome(t *testing.T) {
	host := newTestHome(t).open()
	if got := host.Plugins(); len(got) != 0 {
		t.Errorf("plugins %v", got)
	}
	if got := message(t, host); got != "hi" {
		t.Errorf("message %q", got)
	}
}

func TestPluginsRunInOrderOfPriorityThenName(t *testing.T) {
	h := newTestHome(t)
	h.scaffold("a", "last", 900)
	h.scaffold("b", "first", 100)
	h.scaffold("c", "middle", 500)
	if got := message(t, h.open()); got != "hi first middle last" {
		t.Errorf("message %q", got)
	}
}

func TestTheConfigurationGoesBeforeThePlugin(t *testing.T) {
	h := newTestHome(t)
	h.scaffold("a", "alpha", 100)
	h.scaffold("b", "beta", 500)
	h.scaffold("c", "gamma", 500)
	h.config("[plugins.beta]\npriority = 1\n[plugins.gamma]\nenabled = false\n")
	host := h.open()
	if got := message(t, host); got != "hi beta alpha" {
		t.Errorf("message %q", got)
	}
	if got := states(host); got != "alpha:ready beta:ready gamma:disabled" {
		t.Errorf("states %q", got)
	}
}

func TestTwins(t *testing.T) {
	h := newTestHome(t)
	h.scaffold("a", "same", 500)
	h.scaffold("b", "same", 500)
	host := h.open()
	if got := states(host); got != "same:ready same:broken" {
		t.Errorf("states %q", got)
	}
	if got := message(t, host); got != "hi same" {
		t.Errorf("message %q", got)
	}
}

func TestABrokenPluginIsReportedAndLeftOut(t *testing.T) {
	h := newTestHome(t)
	h.scaffold("a", "good", 500)
	h.write(".local/scaffold/plugins/b", "#!/no/such/shell\n", 0o755)
	host := h.open()
	if got := message(t, host); got != "hi good" {
		t.Errorf("message %q", got)
	}
	b := host.Plugins()[1]
	if b.State != dialect.Broken || b.Error == nil || !strings.Contains(*b.Error, "/no/such/shell") {
		t.Errorf("b is %+v", b)
	}
	findings := host.Doctor()
	if len(findings) != 1 || findings[0].Severity != pluginhost.SeverityError || findings[0].Fix == "" || findings[0].Plugin != "b" {
		t.Errorf("findings %+v", findings)
	}
}

func TestABrokenPluginIsFoundByItsFolder(t *testing.T) {
	h := newTestHome(t)
	h.write(".local/share/kaged/plugins/notes/manifest.yaml", "name: Notes\n", 0o644)
	d, err := h.open().Plugin("notes")
	if err != nil || d.State != dialect.Broken || len(d.Problems) < 2 {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestOneCompactor(t *testing.T) {
	h := newTestHome(t)
	for _, name := range []string{"alpha", "beta"} {
		h.write(".local/share/kaged/plugins/"+name+"/manifest.yaml", "name: "+name+`
version: 1.0.0
kaged_api: 1
description: compacts
command: ["./run"]
hooks: [pre_compact]
capabilities: ["exec:sed:/usr/bin/sed"]
roles: [compactor]
`, 0o644)
		h.write(".local/share/kaged/plugins/"+name+"/run", `#!/bin/sh
while IFS= read -r line; do
  id=${line##*'"id":'} id=${id%\}}
  case "$line" in
  *'"initialized"'*) continue ;;
  *'"initialize"'*) r='{"name":"x","version":"1.0.0","api_version":1,"methods":[],"notifications":[],"capabilities_used":[]}' ;;
  *) r='{}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done
`, 0o755)
	}
	if got := states(h.open()); got != "alpha:ready beta:broken" {
		t.Errorf("both enabled: %s", got)
	}
	h.config("[plugins.alpha]\nenabled = false\n")
	if got := states(h.open()); got != "alpha:disabled beta:ready" {
		t.Errorf("the first disabled: %s", got)
	}
}

func TestOnFailure(t *testing.T) {
	h := newTestHome(t)
	h.scaffold("a", "flaky", 500)
	fire := func(t *testing.T) (*hook.Outcome, error) {
		return h.open().Fire(t.Context(), hook.TurnInput, map[string]string{"message": "hi"})
	}
	const env = "[plugins.a]\nenv = [\"FAIL_*\"]\n[plugins.flaky]\n"
	t.Run("skip is the default of the dialect", func(t *testing.T) {
		h.config(env)
		if out, err := fire(t); err != nil || out.Verdict != hook.Continue || !errors.Is(out.Steps[0].Err, hook.Crash) {
			t.Errorf("%+v, %v", out, err)
		}
	})
	t.Run("deny", func(t *testing.T) {
		h.config(env + "on_failure = \"deny\"\n")
		if out, err := fire(t); err != nil || out.Verdict != hook.Deny {
			t.Errorf("%+v, %v", out, err)
		}
	})
	t.Run("abort", func(t *testing.T) {
		h.config(env + "on_failure = \"abort\"\n")
		if out, err := fire(t); !errors.Is(err, hook.Crash) || out.Verdict != hook.Deny {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

func TestABadConfigurationIsAnErrorWithLineAndColumn(t *testing.T) {
	h := newTestHome(t)
	h.scaffold("a", "alpha", 500)
	for _, c := range []struct{ rule, config, want string }{
		{"unknown key", "[plugins.alpha]\npriorty = 1\n", "config.toml:2:1"},
		{"bad value", "[plugins.alpha]\ntimeout = \"soon\"\n", "config.toml:2:11"},
		{"unknown point", "[[connect]]\nplugin = \"alpha\"\nhook = \"post_user_input\"\npoint = \"no.such\"\n", "config.toml:1:"},
		{"untranslatable connection", "[[connect]]\nplugin = \"alpha\"\nhook = \"post_user_input\"\npoint = \"job.sink\"\n", "config.toml:1:"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			h.config(c.config)
			_, err := pluginhost.Open(t.Context(), h.options())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %s in it", err, c.want)
			}
		})
	}
}

func TestTools(t *testing.T) {
	h := newTestHome(t)
	h.scaffold("a", "alpha", 500)
	host := h.open()
	if tools := host.Tools(); len(tools) != 1 || tools[0].Name != "plugin_alpha_hello" || tools[0].Plugin != "alpha" {
		t.Errorf("tools %+v", tools)
	}
	result, err := host.CallTool(t.Context(), "plugin_alpha_hello", nil)
	if err != nil || !result.Success || result.Result != "hello from alpha" {
		t.Errorf("%+v, %v", result, err)
	}
	if _, err := host.CallTool(t.Context(), "plugin_alpha_hallo", nil); !errors.Is(err, pluginhost.ErrNotFound) ||
		!strings.Contains(err.Error(), "did you mean plugin_alpha_hello?") {
		t.Errorf("unknown tool: %v", err)
	}
	if _, err := host.CallTool(t.Context(), "plugin_alpha_hello", []int{1}); err == nil {
		t.Error("a list was accepted as arguments")
	}
	d, err := host.Plugin("alpha")
	if err != nil || d.Counters.Calls != 1 || d.Health != "ok" || d.Pid == nil || len(d.Wiring) != 1 || d.Wiring[0].Point != hook.TurnInput {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestOnlyWhatIsNeededIsStarted(t *testing.T) {
	h := newTestHome(t)
	h.scaffold("a", "alpha", 500)
	h.scaffold("b", "beta", 500)
	o := h.options()
	o.Needs = func(c pluginhost.Candidate) bool { return c.Name == "b" }
	if got := states(h.openWith(o)); got != "beta:ready" {
		t.Errorf("states %q", got)
	}
}

func TestPathsAreOpenedBesideFoundPlugins(t *testing.T) {
	h := newTestHome(t)
	h.scaffold("a", "alpha", 500)
	h.scaffold("b", "beta", 500)
	o := h.options()
	o.NoSearch, o.Paths = true, []string{filepath.Join(h.home, ".local/scaffold/plugins/b")}
	if got := states(h.openWith(o)); got != "beta:ready" {
		t.Errorf("with a path alone: %q", got)
	}
	o.NoSearch = false
	if got := states(h.openWith(o)); got != "beta:ready alpha:ready" {
		t.Errorf("with a path and a search: %q", got)
	}
	o.Paths = []string{filepath.Join(h.home, "nothing")}
	if _, err := pluginhost.Open(t.Context(), o); !errors.Is(err, pluginhost.ErrNotFound) {
		t.Errorf("a path that is not a plugin: %v", err)
	}
}

func TestCallsOfAClosedHostFail(t *testing.T) {
	h := newTestHome(t)
	h.scaffold("a", "alpha", 500)
	host := h.open()
	for range 2 {
		if err := host.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := host.Fire(t.Context(), hook.TurnInput, nil); !errors.Is(err, pluginhost.ErrClosed) {
		t.Errorf("fire: %v", err)
	}
	if _, err := host.CallTool(t.Context(), "plugin_alpha_hello", nil); !errors.Is(err, pluginhost.ErrClosed) {
		t.Errorf("tool: %v", err)
	}
	if _, err := host.CallMethod(t.Context(), "alpha", "m", nil); !errors.Is(err, pluginhost.ErrClosed) {
		t.Errorf("method: %v", err)
	}
}
