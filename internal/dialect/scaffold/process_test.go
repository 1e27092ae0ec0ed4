package scaffold

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// shell installs a plugin written in sh. body has the request in $line and its id in $id, and
// prints the answer.
func shell(t *testing.T, home, name, manifest, body string) {
	t.Helper()
	plugtest.NeedTool(t, "sh")
	script := `#!/bin/sh
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\)}$/\1/')
  case "$line" in
  *'"method":"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" '` + manifest + `' ;;
  *'"method":"shutdown"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"ok":true}}\n' "$id"; exit 0 ;;
  *) ` + body + ` ;;
  esac
done
`
	if err := os.WriteFile(filepath.Join(pluginDir(t, home), name), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestShellPluginsMatchWithSed: requests are compact JSON with numeric ids from 1, so that sed can
// match them: docs/protocols/scaffold.md, row S49.
func TestShellPluginsMatchWithSed(t *testing.T) {
	home := t.TempDir()
	shell(t, home, "sed", `{"name":"sed","hooks":["post_user_input"]}`,
		`message=$(printf '%s' "$line" | sed 's/.*"message":"\([^"]*\)".*/\1/')
    printf '{"jsonrpc":"2.0","id":%s,"result":{"message":"%s, call %s"}}\n' "$id" "$message" "$id"`)
	b := plugtest.OpenAll(t, New(), home)
	out := b.Fire(t, hook.TurnInput, `{ "message" : "hello there" , "other": [1, 2] }`)
	if got, want := string(out.Payload), `{"message":"hello there, call 2","other":[1,2]}`; got != want {
		t.Errorf("got %s, want %s (%v)", got, want, b.Errs)
	}
}

// TestEnvironment: a plugin gets only the environment of docs/protocols/scaffold.md, row S50.
func TestEnvironment(t *testing.T) {
	home := t.TempDir()
	t.Setenv("PATCHBAY_TEST_SECRET", "hunter2")
	shell(t, home, "env", `{"name":"env","hooks":["post_user_input"]}`,
		`vars=$(env | sed 's/=.*//' | sort | tr '\n' ' ')
    printf '{"jsonrpc":"2.0","id":%s,"result":{"message":"%s"}}\n' "$id" "$vars"`)
	b := plugtest.OpenAll(t, New(), home)
	out := b.Fire(t, hook.TurnInput, `{}`)
	var got struct{ Message string }
	if err := json.Unmarshal(out.Payload, &got); err != nil {
		t.Fatal(err)
	}
	allowed := " HOME PATH TMPDIR " + "PWD OLDPWD SHLVL _ " // the second part is set by the shell itself
	for _, name := range strings.Fields(got.Message) {
		if !strings.Contains(allowed, " "+name+" ") {
			t.Errorf("the plugin sees %s", name)
		}
	}
	if !strings.Contains(got.Message, "HOME") {
		t.Errorf("the plugin sees %q", got.Message)
	}
}

// TestToolErrors: an RPC error is the tool's failure, with its message: docs/protocols/scaffold.md,
// row S54.
func TestToolErrors(t *testing.T) {
	home := t.TempDir()
	shell(t, home, "tools", `{"name":"tools","tools":[{"name":"bad"}]}`,
		`printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no such city"}}\n' "$id"`)
	b := plugtest.OpenAll(t, New(), home)
	result, err := toolOf(t, b, "plugin_tools_bad").CallTool(t.Context(), "plugin_tools_bad", json.RawMessage(`{}`))
	if err != nil || result.Success || result.Result != "no such city" || result.Error != "no such city" {
		t.Errorf("got %+v, %v", result, err)
	}
}

// TestACallToAPluginThatIsDownIsUnavailable: between a crash and the restart calls fail as
// unavailable.
func TestACallToAPluginThatIsDownIsUnavailable(t *testing.T) {
	home := t.TempDir()
	marker := filepath.Join(home, "crashed")
	// It crashes in its first call, and exits before the handshake of each restart.
	shell(t, home, "flaky", `{"name":"flaky","hooks":["post_user_input"]}`, `touch `+marker+`; exit 1`)
	path := filepath.Join(pluginDir(t, home), "flaky")
	script, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	broken := strings.Replace(string(script), "#!/bin/sh\n", "#!/bin/sh\n[ -e "+marker+" ] && { echo 'still broken' >&2; exit 3; }\n", 1)
	if err := os.WriteFile(path, []byte(broken), 0o755); err != nil {
		t.Fatal(err)
	}
	b := plugtest.OpenAll(t, New(), home)
	if out := b.Fire(t, hook.TurnInput, `{}`); !errors.Is(out.Steps[0].Err, hook.Crash) {
		t.Fatalf("first call: %v", out.Steps[0].Err)
	}
	out := b.Fire(t, hook.TurnInput, `{}`)
	for range 100 {
		if errors.Is(out.Steps[0].Err, hook.Unavailable) {
			break
		}
		out = b.Fire(t, hook.TurnInput, `{}`)
	}
	if err := out.Steps[0].Err; !errors.Is(err, hook.Unavailable) || out.Verdict != hook.Continue {
		t.Errorf("while it is down: %v, %s", err, out.Verdict)
	}
	if st := b.Plugins[0].Status(); st.Health != "restarting" || st.Err == nil {
		t.Errorf("status %+v", st)
	}
}

// TestOtherHooksAfterARestart: hooks that a plugin declares only after a restart are not called,
// and a warning says so.
func TestOtherHooksAfterARestart(t *testing.T) {
	log := new(plugtest.Log)
	rt := plugtest.Runtime(t, t.TempDir())
	rt.Log = slog.New(slog.NewTextHandler(log, nil))
	p := &plugin{launch: &launch{rt: rt}}
	for _, c := range []struct{ hooks, want string }{
		{`"post_user_input","pre_llm_send"`, ""},
		{`"pre_llm_send","post_user_input"`, ""},
		{`"post_user_input","pre_tool_execute"`, `first="post_user_input, pre_llm_send" now="post_user_input, pre_tool_execute"`},
	} {
		m, err := parseManifest(json.RawMessage(`{"name":"p","hooks":[` + c.hooks + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.adopt(m); err != nil {
			t.Fatal(err)
		}
		if got := log.String(); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: log %q, want %s", c.hooks, got, c.want)
		}
	}
}

func TestOpenSaysWhyAFileWillNotStart(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(pluginDir(t, home), "lost")
	if err := os.WriteFile(path, []byte("#!/no/such/interpreter\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	b := plugtest.OpenAll(t, New(), home)
	if err := b.Errs["lost"]; err == nil || !strings.Contains(err.Error(), "/no/such/interpreter") {
		t.Errorf("error %v", err)
	}
}

// TestOpenHonoursItsContext: Open returns when its context ends, even during a handshake.
func TestOpenHonoursItsContext(t *testing.T) {
	home := t.TempDir()
	install(t, home, "hang-at-start")
	rt := plugtest.Runtime(t, home)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	found := New().Find(rt.Env)
	if _, err := New().Open(ctx, found[0], dialect.Settings{}, rt); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestNoAnswerShowsStderr: if there is no answer to initialize, the error shows the end of stderr.
func TestNoAnswerShowsStderr(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(pluginDir(t, home), "mute"), []byte("#!/bin/sh\necho 'jq: syntax error' >&2\ncat >/dev/null\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	rt := plugtest.Runtime(t, home)
	ctx, cancel := context.WithCancel(t.Context())
	rt.Log = slog.New(slog.NewTextHandler(onWrite(cancel), nil)) // in place of the protocol's five seconds
	_, err := New().Open(ctx, New().Find(rt.Env)[0], dialect.Settings{}, rt)
	if !errors.Is(err, context.Canceled) || !strings.HasSuffix(err.Error(), "(stderr: jq: syntax error)") {
		t.Errorf("error %v", err)
	}
}

// TestTheFixOfALateAnswer: the error has a fix only if the plugin itself was late.
func TestTheFixOfALateAnswer(t *testing.T) {
	process, err := plugtest.Runtime(t, t.TempDir()).Procs.Start(t.Context(), proc.Spec{Path: "/bin/sh", Args: []string{"-c", "echo sorry >&2"}})
	if err != nil {
		t.Fatal(err)
	}
	<-process.Done()
	late := errors.New("late")
	if err := unanswered(late, late, process); err.Error() != "late (stderr: sorry); "+dialect.UnansweredFix {
		t.Errorf("late: %v", err)
	}
	if err := unanswered(context.Canceled, late, process); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "flush") {
		t.Errorf("interrupted: %v", err)
	}
}

// onWrite is a writer that calls a function for each write.
type onWrite func()

func (f onWrite) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}

// TestAPluginThatIgnoresShutdown: the log says that the plugin did not answer shutdown, because it
// delays every command.
func TestAPluginThatIgnoresShutdown(t *testing.T) {
	for body, warned := range map[string]bool{"while :; do sleep 1; done": true, "exit 0": false} {
		home := t.TempDir()
		shell(t, home, "slow", `{"name":"slow"}`, "")
		path := filepath.Join(pluginDir(t, home), "slow")
		script, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.Replace(string(script), `case "$line" in`, `case "$line" in *'"method":"shutdown"'*) `+body+` ;; esac; case "$line" in`, 1)
		if err := os.WriteFile(path, []byte(changed), 0o755); err != nil {
			t.Fatal(err)
		}
		b := plugtest.OpenAll(t, New(), home)
		if b.Errs["slow"] != nil {
			t.Fatal(b.Errs["slow"])
		}
		ctx, cancel := context.WithCancel(t.Context())
		if warned { // the protocol's five seconds are too long for a test
			ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
		}
		err = b.Plugins[0].Close(ctx)
		cancel()
		if got := strings.Contains(b.Log.String(), "did not answer shutdown"); got != warned || err != nil {
			t.Errorf("%s: warned is %v (%v), log:\n%s", body, got, err, b.Log)
		}
	}
}

// TestConfigOfAPlugin: no message of the protocol has config, so config for a plugin is a finding.
func TestConfigOfAPlugin(t *testing.T) {
	for _, c := range []struct{ under, want string }{
		{"", ""}, {"file", "the config of [plugins.file] has no effect"}, {"own", "the config of [plugins.own] has no effect"},
	} {
		home := t.TempDir()
		shell(t, home, "file", `{"name":"own"}`, "")
		rt := plugtest.Runtime(t, home)
		var findings []string
		rt.Note = func(p dialect.Problem, _ bool) { findings = append(findings, p.Message) }
		rt.Settings = func(name string) (dialect.Settings, error) {
			return dialect.Settings{Config: configIf(c.under != "" && (c.under == "file" || c.under == name))}, nil
		}
		p, err := New().Open(t.Context(), New().Find(rt.Env)[0], dialect.Settings{Config: configIf(c.under == "file")}, rt)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if got := strings.Join(findings, "; "); !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("config under %q: findings %q", c.under, got)
		}
	}
}

func configIf(given bool) json.RawMessage {
	if given {
		return json.RawMessage(`{"a":1}`)
	}
	return nil
}
