package dotagent

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// TestMain acts as a plugin if the test binary was started under a plugin's name.
func TestMain(m *testing.M) {
	plugtest.PlayPart()
	if behaviour, ok := pluginName(filepath.Base(os.Args[0])); ok && len(os.Args) == 2 {
		syscall.Exit(play(behaviour, os.Args[1])) // os.Exit waits a second for the race detector
	}
	goleak.VerifyTestMain(m)
}

// play acts as a plugin that records its calls and misbehaves as its name says.
func play(behaviour, verb string) (code int) {
	stdin, err := io.ReadAll(os.Stdin)
	if err != nil {
		return 99
	}
	plugtest.Record(verb + " " + strings.TrimSuffix(string(stdin), "\n") + "\n")
	if misbehaves, ok := misbehaviours[verb+" "+behaviour]; ok {
		return misbehaves()
	}
	switch verb {
	case verbInfo:
		fmt.Printf(`{"name":%q,"version":"1.2.3","kinds":["notify","sink","preflight"]}`, behaviour)
	case verbValidate:
		fmt.Print(`{"ok":true}`)
	case verbInvoke:
		fmt.Print(`{"ok":true}`)
	}
	return 0
}

// misbehaviours has what each fake does, by the verb and the fake's name. Every fake is this
// program, so a long text is made in a function: then only the fake that prints it makes it.
var misbehaviours = map[string]func() int{
	"info info-error":           plugtest.Says(`{"ok":false,"error":"no licence for this host"}`, "noise", 1),
	"info info-sorry":           plugtest.Says(`{"error":"no licence"}`, "", 0),
	"invoke contradiction":      plugtest.Says(`{"ok":true,"error":"VPN is down"}`, "", 0),
	"invoke extra":              plugtest.Says(`{"ok":true,"page_id":"#42","suggest":"s"}`, "", 0),
	"invoke refuse":             plugtest.Says(`{"ok":false,"error":"VPN is down","suggest":"connect the VPN","host":"a"}`, "", 0),
	"invoke refuse-exit":        plugtest.Says(`{"ok":false,"error":"VPN is down","suggest":"connect the VPN"}`, "noise", 1),
	"invoke refuse-number":      plugtest.Says(`{"ok":false,"error":5}`, "", 0),
	"invoke error-exit":         plugtest.Says(`{"error":"from stdout"}`, "from stderr", 7),
	"invoke error-exit-quietly": plugtest.Says(`{"error":"from stdout"}`, "", 7),
	"invoke refuse-quietly":     plugtest.Says(`{"ok":false}`, "", 0),
	"invoke refuse-stderr":      plugtest.Says(`{"ok":false}`, "no route to host", 4),
	"invoke ok-exit":            plugtest.Says(`{"ok":true}`, "half of it is missing", 3),
	"invoke ok-exit-error":      plugtest.Says(`{"ok":true,"error":"the disk is full"}`, "half of it is missing", 3),
	"invoke crash":              plugtest.Says(``, "boom", 7),
	"invoke crash-silent":       plugtest.Says(``, "", 7),
	"invoke crash-garbage":      plugtest.Says(`{"ok":`, "boom", 7),
	"invoke empty":              plugtest.Says(" \n", "", 0),
	"invoke garbage":            plugtest.Says("done!\n", "", 0),
	"invoke two":                plugtest.Says(`{"ok":true}{"ok":true}`, "", 0),
	"invoke no-ok":              plugtest.Says(`{"status":"ok"}`, "", 0),
	"invoke ok-text":            plugtest.Says(`{"ok":"true"}`, "", 0),
	"invoke ok-both":            plugtest.Says(`{"ok":false,"error":"no","ok":true}`, "", 0),
	"invoke list":               plugtest.Says(`[true]`, "", 0),
	"invoke huge":               func() int { return plugtest.Says(`{"ok":true,"x":"`+strings.Repeat("x", mostStdout)+`"}`, "", 0)() },
	"invoke flood": func() int {
		return plugtest.Says(`{"ok":true}`, strings.Repeat(strings.Repeat("e", 99)+"\n", 40_000), 0)()
	},
	"invoke hang":            plugtest.Hang,
	"invoke kill-self":       plugtest.KillSelf,
	"info info-hang":         plugtest.Hang,
	"info info-crash":        plugtest.Says(``, "no licence", 3),
	"info info-garbage":      plugtest.Says(`hello`, "", 0),
	"info info-empty":        plugtest.Says(``, "", 0),
	"info info-kind":         plugtest.Says(`{"name":"info-kind","kinds":["sink","notifier"]}`, "", 0),
	"info info-other":        plugtest.Says(`{"name":"info-other","kinds":["sink"],"platforms":["plan9","amiga"]}`, "", 0),
	"info info-bare":         plugtest.Says(`{"name":"info-bare"}`, "", 0),
	"info needy":             plugtest.Says(`{"name":"needy","kinds":["sink"],"schema":{"required":["page"],"properties":{"page":{"type":"string"}}}}`, "", 0),
	"validate picky":         plugtest.Says(`{"ok":false,"error":"no such page"}`, "", 0),
	"validate validate-exit": plugtest.Says(``, "cannot read config", 2),
	"validate validate-hang": plugtest.Hang,
}

// place makes a folder below home and returns it.
func place(t *testing.T, home string, elem ...string) string {
	t.Helper()
	dir := filepath.Join(append([]string{home}, elem...)...)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func userPlace(t *testing.T, home string) string {
	return place(t, home, ".config", "dotagent", "plugins")
}

// install copies the test binary to a folder under a plugin's name.
func install(t *testing.T, dir, behaviour string) {
	t.Helper()
	plugtest.InstallSelf(t, filepath.Join(dir, filePrefix+behaviour))
}

// script installs a script as a plugin.
func script(t *testing.T, home, name, text string) {
	t.Helper()
	path := filepath.Join(userPlace(t, home), filePrefix+name)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// A rig opens one plugin in a home directory of its own.
type rig struct {
	*testing.T
	dialect  *Dialect
	home     string
	settings dialect.Settings
	rt       *dialect.Runtime
}

func newRig(t *testing.T) *rig {
	home := t.TempDir()
	return &rig{T: t, dialect: New(), home: home, rt: plugtest.Runtime(t, home)}
}

// fake returns a rig with one misbehaving plugin installed.
func fake(t *testing.T, behaviour string) *rig {
	r := newRig(t)
	install(t, userPlace(t, r.home), behaviour)
	return r
}

// try finds the only plugin and opens it.
func (r *rig) try() (*plugin, error) {
	r.Helper()
	found := r.dialect.Find(r.rt.Env)
	if len(found) != 1 {
		r.Fatalf("found %+v", found)
	}
	p, err := r.dialect.Open(r.Context(), found[0], r.settings, r.rt)
	if err != nil {
		return nil, err
	}
	r.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			r.Errorf("close: %v", err)
		}
	})
	return p.(*plugin), nil
}

func (r *rig) open() *plugin {
	r.Helper()
	p, err := r.try()
	if err != nil {
		r.Fatal(err)
	}
	return p
}

// fire sends one event through hooks, registered as a host would.
func fire(t *testing.T, point hook.Point, payload string, hooks ...hook.Hook) *hook.Outcome {
	t.Helper()
	for i := range hooks {
		hooks[i].Plugin, hooks[i].Dialect, hooks[i].Priority = "p", Name, hook.DefaultPriority
	}
	out, err := plugtest.Fire(t, point, payload, hooks...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// step returns the only step of an outcome.
func step(t *testing.T, out *hook.Outcome) *hook.Step {
	t.Helper()
	if len(out.Steps) != 1 {
		t.Fatalf("%d steps", len(out.Steps))
	}
	return &out.Steps[0]
}
