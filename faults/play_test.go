//go:build linux

package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
)

// patience limits each wait for something that must happen. It is long, because the machine may be
// busy.
const patience = time.Minute

// A stage says how plugins of a dialect are called.
type stage struct {
	point   hook.Point
	payload string
	tool    string // the pattern of a tool's full name; empty if the dialect has no tools
	fellow  bool   // there is a second plugin of the dialect, which is called even if the culprit fails
}

var stages = map[string]stage{
	plugtest.Scaffold: {hook.TurnInput, `{"message":"hi"}`, "plugin_%s_make", true},
	plugtest.Kaged:    {hook.SessionStart, `{"session_id":"s1"}`, "%s.make", true},
	plugtest.Mine:     {hook.CommandBefore, `{"command":"ls","args":[],"flags":{}}`, "", false},
	plugtest.Dotagent: {hook.JobPreflight, `{"agent":"a","schedule":"s","config":{}}`, "", false},
	plugtest.Python:   {hook.TurnFinal, `{"text":"hi"}`, "", true},
}

// A play is one cell in progress: a host, and the plugin that misbehaves.
type play struct {
	*testing.T
	stage
	cell
	row     *row
	dialect string
	plugin  string // the culprit's name
	home    string
	log     *plugtest.Log
	host    *pluginhost.Host
}

// start opens a host with the culprit, a fellow and the neighbour.
func start(t *testing.T, r *row, dialect string, c cell) *play {
	p := &play{T: t, stage: stages[dialect], cell: c, row: r, dialect: dialect, home: t.TempDir(), log: &plugtest.Log{}}
	f := plugtest.Fault{Moment: r.moment, Act: r.act}
	p.plugin = f.Plugin()
	plugtest.InstallFault(t, p.home, dialect, f)
	plugtest.InstallFault(t, p.home, plugtest.Scaffold, plugtest.Fault{}) // the neighbour
	if p.fellow && dialect != plugtest.Scaffold && p.plugin != plugtest.Well {
		plugtest.InstallFault(t, p.home, dialect, plugtest.Fault{})
	}
	p.configure()
	p.open()
	return p
}

// configure gives the culprit a short time limit if the call should exceed it, and a long one if
// not.
func (p *play) configure() {
	limit := patience
	if p.kind == hook.Timeout {
		limit = brief
	}
	text := fmt.Sprintf("sandbox = \"off\"\n[plugins.%s]\ntimeout = %q\ntool_timeout = %q\n", p.plugin, limit, limit)
	dir := filepath.Join(p.home, ".config", "patchbay")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(text), 0o600); err != nil {
		p.Fatal(err)
	}
}

// open starts the host. The plugins are exempt from patchbay.lock: they are the test binary, and
// each start would read its tens of megabytes for the lock.
func (p *play) open() {
	host, err := pluginhost.Open(p.Context(), &pluginhost.Options{
		Dir: p.home, Exempt: []string{p.home}, Logger: slog.New(slog.NewTextHandler(p.log, &slog.HandlerOptions{Level: slog.LevelInfo})),
		Environ: []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}})
	if err != nil {
		p.Fatal(err)
	}
	p.host = host
	p.Cleanup(func() {
		if err := host.Close(); err != nil { // a second Close, unless the test ended early
			p.Errorf("close: %v", err)
		}
		if p.Failed() {
			p.Logf("log:\n%.8000s", p.log)
		}
	})
}

// during runs fault, which makes the culprit misbehave, and calls the neighbour meanwhile, at least
// once.
func (p *play) during(fault func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		fault()
	}()
	over := func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
	eventually.True(p, "the fault", func() bool { return over() || plugtest.ReadFaults(p, p.home).Acted })
	pause := time.NewTicker(10 * time.Millisecond)
	defer pause.Stop()
	for p.callNeighbour(); !over(); p.callNeighbour() {
		<-pause.C
	}
}

// beside waits for a condition and calls the neighbour meanwhile.
func (p *play) beside(what string, holds func() bool) {
	p.Helper()
	eventually.True(p, what, func() bool {
		p.callNeighbour()
		return holds()
	})
}

// callNeighbour calls the plugin that is not involved.
func (p *play) callNeighbour() {
	p.Helper()
	result, err := p.host.CallTool(p.Context(), "plugin_well_make", nil)
	if err != nil || result.Result != "made by well" {
		p.Errorf("the neighbour: %+v, %v", result, err)
	}
}

// fire fires an event for the culprit, and returns its step.
func (p *play) fire() *hook.Step {
	out, _ := p.host.Fire(p.Context(), p.point, json.RawMessage(p.payload)) // the step contains an abort as well
	if out == nil {
		p.Errorf("%s had no outcome", p.point)
		return nil
	}
	if _, err := json.Marshal(out.Trace()); err != nil {
		p.Errorf("the trace cannot be encoded: %v", err)
	}
	step := stepOf(out, p.plugin, p.dialect)
	if step == nil {
		p.Error("the culprit was not called")
	}
	if step != nil && step.Err != nil && p.point == hook.JobPreflight && out.Verdict != hook.Deny {
		p.Errorf("the gate opened after a failure: %s after %v", out.Verdict, step.Err)
	}
	return step
}

func stepOf(out *hook.Outcome, plugin, dialect string) *hook.Step {
	for i := range out.Steps {
		if out.Steps[i].Plugin == plugin && out.Steps[i].Dialect == dialect {
			return &out.Steps[i]
		}
	}
	return nil
}

// checkCell compares the result of a call to the culprit with its cell.
func (p *play) checkCell(err error, where string) {
	p.Helper()
	switch {
	case p.kind == "" && err != nil:
		p.Errorf("the call failed: %v", err)
	case p.kind == "":
	case err == nil:
		p.Errorf("the call worked, want %s", p.kind)
	case !errors.Is(err, p.kind):
		p.Errorf("error %v, want the kind %s", err, p.kind)
	default:
		p.wantWords(err.Error(), append([]string{p.plugin, where}, p.words...)...)
	}
}

// wantWords checks that an error contains the words, such as the plugin, the point and the cause.
func (p *play) wantWords(err string, words ...string) {
	p.Helper()
	for _, w := range words {
		if !strings.Contains(err, w) {
			p.Errorf("the error does not say %q: %s", w, err)
		}
	}
}

// recovers waits until the culprit and its fellow work again.
func (p *play) recovers() {
	p.Helper()
	var last error
	eventually.True(p, "the plugins to work again", func() bool {
		out, _ := p.host.Fire(p.Context(), p.point, json.RawMessage(p.payload))
		culprit, fellow := stepOf(out, p.plugin, p.dialect), stepOf(out, plugtest.Well, p.dialect)
		last = errors.Join(stepErr(culprit), stepErr(fellow))
		return (p.isLost || culprit != nil && culprit.Err == nil) && (!p.fellow || fellow != nil && fellow.Err == nil)
	})
	if p.Failed() {
		p.Logf("the last errors: %v", last)
	}
}

func stepErr(s *hook.Step) error {
	if s == nil || s.Err == nil {
		return nil
	}
	return s.Err
}

// info returns the host's information about the culprit.
func (p *play) info() pluginhost.PluginInfo {
	p.Helper()
	for _, i := range p.host.Plugins() {
		if i.Dialect == p.dialect && strings.Contains(i.Name, p.plugin) { // the file of a scaffold plugin has a longer name
			return i
		}
	}
	p.Fatalf("the host does not know of %s", p.plugin)
	return pluginhost.PluginInfo{}
}

// wantLeftOut checks that the culprit is left out, and that its error and the log say why.
func (p *play) wantLeftOut() {
	p.Helper()
	info := p.info()
	if info.State != dialect.Broken || info.Error == nil {
		p.Errorf("the culprit is %s: %v", info.State, info.Error)
		return
	}
	p.wantWords(*info.Error, p.words...)
	if !p.isNotStarted {
		p.wantWords(p.log.String(), p.plugin)
	}
}

// close closes the host and checks that it left nothing behind.
func (p *play) close() {
	p.Helper()
	if err := p.host.Close(); err != nil {
		p.Errorf("close: %v", err)
	}
	record := plugtest.ReadFaults(p, p.home)
	if strings.Count(strings.Join(record.Ended, " "), plugtest.Well) == 0 {
		p.Errorf("the neighbour was not asked to end")
	}
	for _, left := range survivors(p, p.home, record.Pids) {
		p.Errorf("a process is left: %s", left)
	}
	if _, err := p.host.Fire(context.Background(), p.point, nil); !errors.Is(err, pluginhost.ErrClosed) {
		p.Errorf("the closed host fires: %v", err)
	}
}
