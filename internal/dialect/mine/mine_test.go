package mine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// TestMain acts as a plugin if the test binary was started under a plugin's name.
func TestMain(m *testing.M) {
	plugtest.PlayPart()
	if behaviour, ok := strings.CutPrefix(filepath.Base(os.Args[0]), programPrefix); ok && len(os.Args) == 1 {
		syscall.Exit(play(strings.TrimSuffix(behaviour, ".exe"))) // os.Exit waits a second for the race detector
	}
	goleak.VerifyTestMain(m)
}

// A message is the message that the fake reads.
type message struct {
	Type    string          `json:"type"`
	Event   string          `json:"event"`
	Command string          `json:"command"`
	Args    []string        `json:"args"`
	Context json.RawMessage `json:"context"`
}

// play acts as a plugin that records its calls and misbehaves as its name says.
func play(behaviour string) (code int) {
	stdin, err := io.ReadAll(os.Stdin)
	if err != nil {
		return 99
	}
	var in message
	if err := json.Unmarshal(stdin, &in); err != nil {
		return 97
	}
	plugtest.Record(string(stdin))
	if misbehaves, ok := misbehaviours[in.Type+in.Event+" "+behaviour]; ok {
		return misbehaves()
	}
	switch in.Type {
	case typeHook:
		var context map[string]any
		if err := json.Unmarshal(in.Context, &context); err != nil {
			return 96
		}
		context["flags"].(map[string]any)["seen"] = behaviour
		reply, err := json.Marshal(map[string]any{"status": "ok", "context": context})
		if err != nil {
			return 95
		}
		fmt.Println(string(reply))
	case typeCommand:
		fmt.Printf("%s %q\n", in.Command, in.Args)
	case typeLifecycle:
		fmt.Println(`{"status":"ok"}`)
	}
	return 0
}

const refusal = `{"status":"error","error":"vault not found","code":"VAULT_NOT_FOUND"}`

// misbehaviours are what fakes do. Every fake is this program, so a long text is made only by the
// fake that prints it.
var misbehaviours = map[string]func() int{
	"hook crash":                  plugtest.Says("", "", 3),
	"hook words":                  plugtest.Says("", "Traceback:\n  boom", 3),
	"hook refuse":                 plugtest.Says("", refusal, 1),
	"hook refuse-stdout":          plugtest.Says(refusal, "", 0),
	"hook refuse-zero":            plugtest.Says("", refusal, 0),
	"hook refuse-among":           plugtest.Says("", "DeprecationWarning: old\n"+refusal+"\nbye\n", 0),
	"hook refuse-marked":          plugtest.Says("", "\uFEFF"+refusal, 0),
	"hook log-line":               plugtest.Says("", `{"level":"ERROR","msg":"miss","error":"cache miss"}`, 0),
	"hook log-object":             plugtest.Says("", `{"error":"cache miss"}`, 0),
	"hook log-answer":             plugtest.Says(`{"status":"ok"}`, refusal, 0),
	"hook refuse-wrongly":         plugtest.Says(refusal, "", 1),
	"hook refuse-quietly":         plugtest.Says(`{"status":"error"}`, "", 0),
	"hook garbage":                plugtest.Says("all good!", "", 0),
	"hook half":                   plugtest.Says(`{"status":"ok","context":{"command":`, "", 0),
	"hook list":                   plugtest.Says(`[1]`, "", 0),
	"hook status":                 plugtest.Says(`{"status":"denied"}`, "", 0),
	"hook both":                   plugtest.Says(`{"status":"error","error":"no","status":"ok"}`, "", 0),
	"hook empty":                  plugtest.Says(" \n", "", 0),
	"hook bare":                   plugtest.Says(`{"status":"ok"}`, "", 0),
	"hook null":                   plugtest.Says(`{"status":"ok","context":null}`, "", 0),
	"hook huge":                   func() int { return plugtest.Says(`{"status":"ok","x":"`+strings.Repeat("x", mostStdout)+`"}`, "", 0)() },
	"hook chatty":                 func() int { return plugtest.Says(strings.Repeat("x", 3*mostStdout), "", 0)() },
	"hook hang":                   plugtest.Hang,
	"hook kill-self":              plugtest.KillSelf,
	"hook outdated":               plugtest.Says("", `{"status":"error","error":"unsupported protocol version"}`, 1),
	"lifecycleinit outdated-init": plugtest.Says("", `{"status":"error","error":"unsupported protocol version: needs 2.0"}`, 1),
	"lifecycleinit slow-init":     plugtest.Hang,
	"lifecycleshutdown slow-exit": plugtest.Hang,
	"lifecyclehealth unwell":      plugtest.Says(refusal, "", 0),
	"lifecyclehealth unwell-exit": plugtest.Says("", refusal, 1),
	"lifecyclehealth deaf":        plugtest.Says("", "Traceback:\nKeyError: 'context'", 1),
	"lifecyclehealth mute":        plugtest.Says("", "", 0),
	"lifecyclehealth rambling":    plugtest.Says("fine, thanks", "", 0),
	"lifecyclehealth sleepy":      plugtest.Hang,
	"command refuse":              plugtest.Says("half of it\n", refusal, 4),
	"command words":               plugtest.Says("", "{ not JSON\nat all", 5),
	"command plain":               plugtest.Says("", "no such vault\n", 7),
	"command crash":               plugtest.Says("", "", 6),
	"command warn":                plugtest.Says("out\n", refusal, 0),
	"command kill-self":           plugtest.KillSelf,
}

// busy is the timeout of fakes, long enough for a busy machine.
const busy = time.Minute

// A rig opens plugins in a home directory of its own.
type rig struct {
	*testing.T
	dialect  *Dialect
	home     string
	settings dialect.Settings
	rt       *dialect.Runtime
	log      *plugtest.Log
}

func newRig(t *testing.T) *rig {
	home := t.TempDir()
	r := &rig{T: t, dialect: &Dialect{lifecycle: busy}, home: home, rt: plugtest.Runtime(t, home), log: &plugtest.Log{}}
	r.rt.Log = slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return r
}

// manifestOf returns a manifest with all required keys, followed by more.
func manifestOf(name, more string) string {
	return "[plugin]\nname = \"" + name + "\"\nversion = \"1.2.3\"\ndescription = \"a fake\"\nauthor = \"me\"\nprotocol_version = \"1.0.0\"\n" + more
}

// everyStage has a hook for every command in each stage.
const everyStage = `
[[hooks]]
command = "*"
stage = "prevalidate"
mode = "transform"
[[hooks]]
command = "*"
stage = "preexec"
mode = "transform"
[[hooks]]
command = "*"
stage = "postexec"
mode = "transform"
[[hooks]]
command = "*"
stage = "notify"
mode = "notify"
[[commands]]
name = "sync"
description = "sync"
`

// folder makes a plugin's folder, writes its manifest and returns the folder.
func (r *rig) folder(name, manifest string) string {
	r.Helper()
	dir := filepath.Join(r.home, ".local", "share", "mine", "plugins", name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, manifestFile), []byte(manifest), 0o644); err != nil {
		r.Fatal(err)
	}
	return dir
}

// fake installs the test binary as the plugin of that name.
func (r *rig) fake(name, more string) {
	r.Helper()
	plugtest.InstallSelf(r, filepath.Join(r.folder(name, manifestOf(name, more)), programPrefix+name))
}

// script installs a script as a plugin.
func (r *rig) script(name, more, text string) {
	r.Helper()
	dir := r.folder(name, manifestOf(name, more))
	if err := os.WriteFile(filepath.Join(dir, programPrefix+name), []byte(text), 0o755); err != nil {
		r.Fatal(err)
	}
}

// open opens all plugins. They are closed when the test ends.
func (r *rig) open() []*plugin {
	r.Helper()
	var all []*plugin
	for _, f := range r.dialect.Find(r.rt.Env) {
		p, err := r.dialect.Open(r.Context(), f, r.settings, r.rt)
		if err != nil {
			r.Fatal(err)
		}
		r.Cleanup(func() {
			if err := p.Close(context.Background()); err != nil {
				r.Errorf("close: %v", err)
			}
		})
		all = append(all, p.(*plugin))
	}
	if len(all) == 0 {
		r.Fatal("no plugin")
	}
	return all
}

// openFake returns a rig with one fake that has a hook in every stage, and that fake.
func openFake(t *testing.T, behaviour string) (*rig, *plugin) {
	t.Helper()
	r := newRig(t)
	r.fake(behaviour, everyStage)
	return r, r.open()[0]
}

// calls returns what the fakes below home were sent, in order.
func (r *rig) calls() []string {
	r.Helper()
	return plugtest.Recorded(r, r.home)
}

// hookCalls returns those calls that are hooks.
func (r *rig) hookCalls() []string {
	var hooks []string
	for _, call := range r.calls() {
		if strings.Contains(call, `"type":"hook"`) {
			hooks = append(hooks, call)
		}
	}
	return hooks
}

// fire sends one event through hooks, registered as a host would.
func fire(t *testing.T, point hook.Point, payload string, hooks ...hook.Hook) (*hook.Outcome, error) {
	t.Helper()
	for i := range hooks {
		h := &hooks[i]
		h.Plugin, h.Dialect, h.Priority = "p", Name, hook.DefaultPriority
		if h.Timeout == transformTimeout {
			h.Timeout = busy
		}
	}
	return plugtest.Fire(t, point, payload, hooks...)
}

// fired is fire for events that must not fail.
func fired(t *testing.T, point hook.Point, payload string, hooks ...hook.Hook) *hook.Outcome {
	t.Helper()
	out, err := fire(t, point, payload, hooks...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
