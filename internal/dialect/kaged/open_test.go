package kaged

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// TestHandshake: opening sends initialize and initialized: docs/protocols/kaged.md, rows K50 and
// K59.
func TestHandshake(t *testing.T) {
	r := newRig(t, "echo", `
capabilities: ["kaged:storage:read"]
config_schema: {type: object, properties: {level: {type: integer}}}
system_config_schema: {type: object, properties: {token: {type: string}}}
`)
	r.settings = dialect.Settings{Config: json.RawMessage(`{"level":3}`), SystemConfig: json.RawMessage(`{"token":"hunter2"}`)}
	r.runtime.Storage = &memory{}
	p := r.open()
	if _, err := p.CallMethod(t.Context(), "fake.echo", nil); err != nil {
		t.Fatal(err)
	}
	all := r.received()
	if len(all) != 3 || all[0].Method != "initialize" || all[1].Method != "initialized" || all[2].Method != "fake.echo" {
		t.Fatalf("received %+v", all)
	}
	if string(all[0].ID) != "1" || string(all[2].ID) != "2" || all[1].ID != nil {
		t.Errorf("ids %s, %s, %s", all[0].ID, all[1].ID, all[2].ID)
	}
	want := `{"daemon_version":"test","api_version":1,"plugin_name":"echo","storage_available":true,"projects":["test"],` +
		`"config":{"level":3},"system_config":{"token":"hunter2"}}`
	if got := string(all[0].Params); got != want {
		t.Errorf("initialize params\n%s, want\n%s", got, want)
	}
	if got := string(all[1].Params); got != `{}` {
		t.Errorf("initialized params %s", got)
	}
	if strings.Contains(r.log.String(), "hunter2") {
		t.Errorf("a secret was logged:\n%s", r.log)
	}
}

func TestHandshakeRefusals(t *testing.T) {
	for _, tc := range []struct {
		behaviour string
		kind      hook.Kind
		says      []string
	}{
		{"another-api", hook.Refused, []string{`answer initialize with "api_version": 1`}},
		{"crash-at-initialize", hook.Crash, []string{"exit code 3", "no database"}},
		{"refuses-initialize", hook.Refused, []string{"no licence"}},
	} {
		t.Run(tc.behaviour, func(t *testing.T) {
			t.Parallel()
			err := newRig(t, tc.behaviour, "").refused()
			if !errors.Is(err, tc.kind) {
				t.Errorf("error %v is not of kind %s", err, tc.kind)
			}
			for _, says := range append(tc.says, "plugin "+tc.behaviour, "(kaged)", "initialize") {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("error %q does not say %q", err, says)
				}
			}
		})
	}
}

// TestHandshakeThatIsNotAnswered: the error repeats what the plugin wrote to stderr. On a busy
// machine the plugin may not have come so far, so the test tries again with more time.
func TestHandshakeThatIsNotAnswered(t *testing.T) {
	t.Parallel()
	for limit := 500 * time.Millisecond; ; limit *= 2 {
		r := newRig(t, "hang-at-initialize", "")
		r.dialect.handshake = limit
		const said = "waiting for a database"
		err := r.refused()
		if !errors.Is(err, hook.Timeout) {
			t.Fatalf("error %v is not of kind %s", err, hook.Timeout)
		}
		if limit < time.Minute && !strings.Contains(err.Error(), said) {
			continue
		}
		for _, says := range []string{"timed out after " + limit.String(), said, "flush stdout after it", "plugin hang-at-initialize", "(kaged)", "initialize"} {
			if !strings.Contains(err.Error(), says) {
				t.Errorf("error %q does not say %q", err, says)
			}
		}
		return
	}
}

func TestHandshakeWarnings(t *testing.T) {
	for behaviour, warns := range map[string]string{
		"no-api":  "left out api_version",
		"differs": "9.9.9",
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, behaviour, "")
			p := r.open()
			if p.Info().Version != "1.0.0" {
				t.Errorf("version %s: the manifest's counts", p.Info().Version)
			}
			if !strings.Contains(r.log.String(), warns) {
				t.Errorf("no warning of %q:\n%s", warns, r.log)
			}
		})
	}
}

func TestOpenSaysWhyAProgramWillNotStart(t *testing.T) {
	home := t.TempDir()
	place(t, home, "p", "manifest.yaml", strings.Replace(minimal("p"), "./run", "./gone", 1))
	rt := plugtest.Runtime(t, home)
	_, err := New().Open(t.Context(), New().Find(rt.Env)[0], dialect.Settings{}, rt)
	if !errors.Is(err, hook.Unavailable) || !strings.Contains(err.Error(), "gone") || !strings.Contains(err.Error(), "plugin p (kaged)") {
		t.Errorf("error %v", err)
	}
	if start, ok := errors.AsType[*program.StartError](err); !ok || !strings.Contains(start.Fix, "correct command in the manifest") {
		t.Errorf("fix of %#v", err)
	}
}

// TestAProgramBesideTheManifest: a bare name is not a file in the plugin's directory, and the fix
// says how to name that.
func TestAProgramBesideTheManifest(t *testing.T) {
	home := t.TempDir()
	dir := place(t, home, "p", "manifest.yaml", strings.Replace(minimal("p"), "./run", "run-of-p", 1))
	if err := os.WriteFile(filepath.Join(dir, "run-of-p"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	rt := plugtest.Runtime(t, home)
	_, err := New().Open(t.Context(), New().Find(rt.Env)[0], dialect.Settings{}, rt)
	if start, ok := errors.AsType[*program.StartError](err); !ok || !strings.Contains(start.Fix, "write ./run-of-p in command") {
		t.Errorf("error %v", err)
	}
}

func TestOpenOfABrokenPluginRepeatsWhy(t *testing.T) {
	home := t.TempDir()
	place(t, home, "p", "README", "")
	rt := plugtest.Runtime(t, home)
	_, err := New().Open(t.Context(), New().Find(rt.Env)[0], dialect.Settings{}, rt)
	if err == nil || !strings.Contains(err.Error(), "no manifest.yaml") {
		t.Errorf("error %v", err)
	}
}

func TestOpenHonoursItsContext(t *testing.T) {
	r := newRig(t, "hang-at-initialize", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.dialect.Open(ctx, r.found, r.settings, r.runtime); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestConfiguration: all faults of both configurations are reported at once, and never the value of
// a secret: docs/protocols/kaged.md, row K51.
func TestConfiguration(t *testing.T) {
	const schemas = `
config_schema: {type: object, required: [url], properties: {url: {type: string}, level: {type: integer}}}
system_config_schema: {type: object, properties: {token: {type: string, minLength: 20}, pin: {enum: ["a", "b"]}}}
`
	r := newRig(t, "echo", schemas)
	r.settings = dialect.Settings{Config: json.RawMessage(`{"level":"high"}`), SystemConfig: json.RawMessage(`{"token":"hunter2","pin":"sesame"}`)}
	text := r.refused().Error()
	for _, says := range []string{"plugin echo (kaged)", "config.url", "config.level", "system_config.token", "system_config.pin"} {
		if !strings.Contains(text, says) {
			t.Errorf("error %q does not say %q", text, says)
		}
	}
	if strings.Contains(text, "hunter2") || strings.Contains(text, "sesame") {
		t.Errorf("error %q contains a secret", text)
	}
	if _, err := os.Stat(filepath.Join(r.dir, receivedFile)); err == nil {
		t.Error("the plugin was started nevertheless")
	}

	t.Run("a secret in the config is called one", func(t *testing.T) {
		r := newRig(t, "echo", strings.Replace(schemas, "{type: object,", "{type: object, additionalProperties: false,", 1))
		r.settings = dialect.Settings{Config: json.RawMessage(`{"url":"x","token":"hunter2"}`)}
		if text := r.refused().Error(); !strings.Contains(text, "config.token: is a secret") || !strings.Contains(text, "[plugins.echo] in secrets.toml") || strings.Contains(text, "hunter2") {
			t.Errorf("error %q", text)
		}
	})
	t.Run("required fields are reported if there is no configuration", func(t *testing.T) {
		r := newRig(t, "echo", schemas)
		if text := r.refused().Error(); !strings.Contains(text, "config.url") {
			t.Errorf("error %q", text)
		}
	})
}

// TestEnvironment: a plugin gets the directory and the environment of docs/protocols/kaged.md, row
// K49.
func TestEnvironment(t *testing.T) {
	r := newRig(t, "echo", "")
	m := r.manifest()
	m.Env["LANG"], m.Command = "xx", append(m.Command, "-one", "two words")
	r.settings.Env = []string{"GIT_*"}
	r.runtime.Env.Vars = append(r.runtime.Env.Vars, "LANG=C", "GIT_DIR=/g", "OPENAI_API_KEY=hunter2", "PATCHBAY_HOME=/h", "XDG_CONFIG_HOME=/xdg")
	result, err := r.open().CallMethod(t.Context(), "fake.environment", nil)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Dir       string
		Env, Args []string
	}
	if err := json.Unmarshal(result, &got); err != nil {
		t.Fatal(err)
	}
	if same, err := filepath.EvalSymlinks(r.dir); err != nil || got.Dir != same && got.Dir != r.dir {
		t.Errorf("working directory %s, want %s (%v)", got.Dir, r.dir, err)
	}
	if !slices.Equal(got.Args, []string{"-one", "two words"}) {
		t.Errorf("arguments %q", got.Args)
	}
	rt := r.runtime
	want := []string{"GIT_DIR=/g", "HOME=" + rt.Env.Home(), "KAGED_CONFIG_ROOT=/xdg/kaged", "KAGED_FAKE=echo",
		"KAGED_PROJECT_ID=test", "KAGED_PROJECT_ROOT=" + rt.ProjectRoot, "LANG=xx", "PATH=" + rt.Env.Get("PATH"), "TMPDIR=" + rt.Env.Get("TMPDIR")}
	got.Env = slices.DeleteFunc(got.Env, func(v string) bool { // see testingEnv
		return strings.HasPrefix(v, "GOCOVERDIR=") || strings.HasPrefix(v, "GORACE=")
	})
	slices.Sort(got.Env)
	if !slices.Equal(got.Env, want) {
		t.Errorf("environment\n%q, want\n%q", got.Env, want)
	}
}

// TestAShellPlugin: a bare command is looked up in PATH, and JSON is compact, so that sed can read
// it: docs/protocols/kaged.md, rows K48 and K62.
func TestAShellPlugin(t *testing.T) {
	plugtest.NeedTool(t, "sh")
	home := t.TempDir()
	dir := place(t, home, "shell", "manifest.yaml", strings.Replace(minimal("shell"), "[./run]", "[sh, run.sh]", 1))
	script := `while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  case "$line" in
  *'"method":"initialize"'*) result='{"name":"shell","version":"1.0.0","api_version":1,"methods":[],"notifications":[],"capabilities_used":[]}' ;;
  *'"method":"initialized"'*) continue ;;
  *'"method":"kaged.hook.on_session_start"'*)
    session=$(printf '%s' "$line" | sed 's/.*"session_id":"\([^"]*\)".*/\1/')
    result="{\"inject\":\"hello $session\"}" ;;
  *) result='{}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
`
	if err := os.WriteFile(filepath.Join(dir, "run.sh"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	b := plugtest.OpenAll(t, New(), home)
	out := b.Fire(t, hook.SessionStart, `{ "session_id" : "s 1" }`)
	if got, want := string(out.Payload), `{"session_id":"s 1","inject":"hello s 1"}`; got != want {
		t.Errorf("payload %s, want %s (%v)", got, want, b.Errs)
	}
}
