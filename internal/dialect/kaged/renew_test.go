package kaged

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
)

const levelled = `
config_schema: {type: object, properties: {level: {type: integer}}}
knobs: {level: {type: int_range, label: Level, min: 0, max: 9, default: 1, binds_to: config.level}}
`

// TestReconfigure: the process is shut down and replaced by one with the new configuration, and no
// call is lost: docs/protocols/kaged.md, row K54.
func TestReconfigure(t *testing.T) {
	r := newRig(t, "echo", levelled)
	p := r.open()
	before := p.Status().Pid
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for range 50 {
				if _, err := p.CallMethod(t.Context(), "fake.echo", nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	if err := p.Reconfigure(t.Context(), dialect.Settings{Config: json.RawMessage(`{"level":7}`)}); err != nil {
		t.Fatal(err)
	}
	callers.Wait()
	if now := p.Status(); now.Pid == before || now.Pid == 0 || now.Restarts != 1 {
		t.Errorf("pid %d, %d before, %d restarts", now.Pid, before, now.Restarts)
	}
	var told []string
	for _, m := range r.received() {
		if m.Method == "initialize" {
			told = append(told, string(m.Params))
		}
		if m.Method == "shutdown" {
			told = append(told, "shutdown")
		}
	}
	if len(told) != 3 || !strings.Contains(told[0], `"config":{"level":1}`) || told[1] != "shutdown" || !strings.Contains(told[2], `"config":{"level":7}`) {
		t.Errorf("the plugin got the configurations %q", told)
	}
	if strings.Contains(r.log.String(), "plugin ended") {
		t.Errorf("a requested restart is logged as a crash:\n%s", r.log)
	}
}

// TestReconfigureAgainAndAgain: a requested restart is no crash, after which each restart waits
// longer. Nine crashes in a row would take 51 seconds, and calls wait meanwhile.
func TestReconfigureAgainAndAgain(t *testing.T) {
	p := newRig(t, "echo", levelled).open()
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	for level := range 9 {
		if err := p.Reconfigure(ctx, dialect.Settings{Config: fmt.Appendf(nil, `{"level":%d}`, level)}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReconfigureRefusesWhatDoesNotFit(t *testing.T) {
	r := newRig(t, "echo", levelled)
	p := r.open()
	err := p.Reconfigure(t.Context(), dialect.Settings{Config: json.RawMessage(`{"level":10}`)})
	if err == nil || !strings.Contains(err.Error(), "config.level: must be from 0 to 9") || p.Status().Restarts != 0 {
		t.Errorf("%v, %d restarts", err, p.Status().Restarts)
	}
}

func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gate
		if err := g.enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		closed := make(chan error, 1)
		go func() { closed <- g.close(t.Context()) }()
		synctest.Wait()
		if err := g.enter(t.Context()); err != nil { // close waits for a quiet moment, and other calls go on
			t.Fatal(err)
		}
		g.leave()
		g.leave()
		if err := <-closed; err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		gaveUp, entered := make(chan error, 1), make(chan error, 1)
		go func() { gaveUp <- g.enter(ctx) }()
		go func() { entered <- g.enter(t.Context()) }()
		synctest.Wait()
		cancel()
		if err := <-gaveUp; err == nil {
			t.Error("a call went through a gate that is shut")
		}
		g.open()
		if err := <-entered; err != nil {
			t.Error(err)
		}
		// A call that does not end makes others wait, but only after patience.
		go func() { closed <- g.close(t.Context()) }()
		synctest.Wait()
		if err := g.enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		g.leave()
		synctest.Wait()
		g.leave()
		if err := <-closed; err != nil {
			t.Error(err)
		}
		g.open()
	})
}
