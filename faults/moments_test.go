//go:build linux

package faults

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// moments has a function for each moment at which a plugin can misbehave. It makes the culprit
// misbehave at that moment, and returns after the neighbour has answered.
var moments = map[plugtest.Moment]func(*play){
	plugtest.AtStart:        (*play).playOpening,
	plugtest.InHandshake:    (*play).playOpening,
	plugtest.AfterHandshake: (*play).playIdle,
	plugtest.InHook:         (*play).playHook,
	plugtest.AfterHook:      (*play).playAfterHook,
	plugtest.WhenTold:       (*play).playTold,
	plugtest.InTool:         (*play).playTool,
	plugtest.InHealth:       (*play).playHealth,
	plugtest.InShutdown:     (*play).callNeighbour, // the culprit misbehaves in close
}

// run plays one cell.
func run(t *testing.T, r *row, dialect string, c cell) {
	p := start(t, r, dialect, c)
	moments[r.moment](p)
	if r.then != nil {
		r.then(p)
	}
	if !p.isBroken && p.isCalledAgain() {
		p.recovers()
	}
	p.callNeighbour()
	p.close()
	if !p.isNotStarted && !plugtest.ReadFaults(p, p.home).Acted {
		p.Error("the plugin did not misbehave")
	}
}

// isCalledAgain reports whether the culprit is called after it has misbehaved. In rows about its
// shutdown that is not possible.
func (p *play) isCalledAgain() bool { return p.row.moment != plugtest.InShutdown }

func (p *play) playOpening() {
	p.callNeighbour()
	switch {
	case p.isBroken:
		p.wantLeftOut()
	case p.kind != "":
		p.checkCell(stepErr(p.fire()), string(p.point))
	}
}

// playIdle: no call is running, so there is no error to return.
func (p *play) playIdle() {
	p.beside("the fault", func() bool { return plugtest.ReadFaults(p, p.home).Acted })
}

func (p *play) playHook() {
	p.during(func() {
		var calls sync.WaitGroup
		defer calls.Wait()
		for range p.row.times() {
			calls.Go(func() { p.checkCell(stepErr(p.fire()), string(p.point)) })
		}
	})
}

func (p *play) playAfterHook() {
	p.callOnce()
	p.playIdle()
}

func (p *play) playTold() {
	p.callOnce()
	plugtest.Tell(p, p.home)
	p.playIdle()
}

// callOnce makes a call that must succeed.
func (p *play) callOnce() {
	if err := stepErr(p.fire()); err != nil {
		p.Errorf("its first call: %v", err)
	}
}

func (p *play) playTool() {
	name := fmt.Sprintf(p.tool, p.plugin)
	p.during(func() {
		result, err := p.host.CallTool(p.Context(), name, nil)
		p.checkCell(err, name)
		if err == nil && !strings.Contains(result.Result, p.plugin) {
			p.Errorf("result %+v", result)
		}
	})
}

// playHealth waits until a health check has failed. The host checks kaged plugins at intervals, and
// restarts those that fail. It checks mine plugins only on request.
func (p *play) playHealth() {
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
		p.wantWords(p.log.String(), append([]string{p.plugin}, p.words...)...)
	}
}
