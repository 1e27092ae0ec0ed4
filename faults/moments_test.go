//go:build linux

package faults

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// meetings brings each moment about. Each function returns after the neighbour has answered.
var meetings = map[plugtest.Moment]func(*play){
	plugtest.AtStart:        (*play).meetOpening,
	plugtest.InHandshake:    (*play).meetOpening,
	plugtest.AfterHandshake: (*play).meetIdle,
	plugtest.InHook:         (*play).meetHook,
	plugtest.AfterHook:      (*play).meetAfterHook,
	plugtest.WhenTold:       (*play).meetTold,
	plugtest.InTool:         (*play).meetTool,
	plugtest.InHealth:       (*play).meetHealth,
	plugtest.InShutdown:     (*play).neighbour, // close does the rest
}

// run plays one cell.
func run(t *testing.T, r *row, dialect string, c cell) {
	p := start(t, r, dialect, c)
	meetings[r.moment](p)
	if r.then != nil {
		r.then(p)
	}
	if !p.isBroken && p.reached() {
		p.recovers()
	}
	p.neighbour()
	p.close()
	if !p.isNotStarted && !plugtest.ReadFaults(p, p.home).Acted {
		p.Error("the plugin did not misbehave")
	}
}

// reached reports whether the culprit is called again. It is not if the row is about its shutdown.
func (p *play) reached() bool { return p.row.moment != plugtest.InShutdown }

func (p *play) meetOpening() {
	p.neighbour()
	switch {
	case p.isBroken:
		p.wantLeftOut()
	case p.kind != "":
		p.judge(stepErr(p.fire()), string(p.point))
	}
}

// meetIdle: no call is running, so there is no error to return.
func (p *play) meetIdle() {
	p.beside("the fault", func() bool { return plugtest.ReadFaults(p, p.home).Acted })
}

func (p *play) meetHook() {
	p.during(func() {
		var calls sync.WaitGroup
		defer calls.Wait()
		for range p.row.times() {
			calls.Go(func() { p.judge(stepErr(p.fire()), string(p.point)) })
		}
	})
}

func (p *play) meetAfterHook() {
	p.meetFirst()
	p.meetIdle()
}

func (p *play) meetTold() {
	p.meetFirst()
	plugtest.Tell(p, p.home)
	p.meetIdle()
}

// meetFirst makes a call that works.
func (p *play) meetFirst() {
	if err := stepErr(p.fire()); err != nil {
		p.Errorf("its first call: %v", err)
	}
}

func (p *play) meetTool() {
	name := fmt.Sprintf(p.tool, p.plugin)
	p.during(func() {
		result, err := p.host.CallTool(p.Context(), name, nil)
		p.judge(err, name)
		if err == nil && !strings.Contains(result.Result, p.plugin) {
			p.Errorf("result %+v", result)
		}
	})
}

// meetHealth: the host checks kaged plugins at intervals and restarts them. It checks plugins of
// mine only on request.
func (p *play) meetHealth() {
	p.beside("its health to be bad", func() bool {
		if err := p.host.CheckHealth(p.Context(), p.dialect+":"+p.plugin); err != nil {
			p.Fatal(err)
		}
		d, err := p.host.Plugin(p.dialect + ":" + p.plugin)
		if err != nil {
			p.Fatal(err)
		}
		return d.Counters.Restarts > 0 || strings.HasPrefix(d.Health, "no answer to health")
	})
	if p.words != nil {
		p.names(p.log.String(), append([]string{p.plugin}, p.words...)...)
	}
}
