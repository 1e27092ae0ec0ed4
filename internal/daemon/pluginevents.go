package daemon

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/pluginlog"
)

// The kinds of events about plugins.
const (
	stateEvent  = "plugin.state"
	logEvent    = "plugin.log"
	deniedEvent = "plugin.denied"
)

const (
	mostEventText = 500                    // bytes of a line in an event; the log has the whole line
	exitDelay     = 50 * time.Millisecond  // until the host knows that a plugin has exited
	lookAgain     = 250 * time.Millisecond // after which the states of plugins that are not running are compared again
	lookLater     = 2 * time.Second        // the longest such wait: each is twice as long as the one before
)

// pluginEvents writes events about plugins to the journal: their states, their log lines, and what
// the sandbox refuses them. Each plugin has a budget for each kind, so that no plugin can fill the
// journal. An event tells how many were left out.
type pluginEvents struct {
	core *Core
	soon chan struct{} // has room for one signal: states of plugins may have changed

	mu      sync.Mutex // protects the fields below
	open    bool       // events are written; set while the core is served
	budgets map[budgetKey]*budget
}

func newPluginEvents(c *Core) *pluginEvents {
	return &pluginEvents{core: c, soon: make(chan struct{}, 1), budgets: make(map[budgetKey]*budget)}
}

// poke announces that the states of plugins may have changed. It never waits.
func (p *pluginEvents) poke() {
	select {
	case p.soon <- struct{}{}:
	default: // already announced
	}
}

// A pluginEvent is the data of an event.
type pluginEvent struct {
	Plugin  string  `json:"plugin"`
	Dialect string  `json:"dialect"`
	State   string  `json:"state,omitempty"`
	Health  string  `json:"health,omitempty"`
	Pid     *int    `json:"pid,omitempty"`
	Error   *string `json:"error,omitempty"`
	Level   string  `json:"level,omitempty"`
	Text    string  `json:"text,omitempty"`
	What    string  `json:"what,omitempty"`
	Detail  string  `json:"detail,omitempty"`
	LeftOut int     `json:"left_out,omitempty"` // how many such events were left out since the last one
}

// wrote is called for each line in a plugin's log. Most lines that the plugin did not write itself
// announce a new state.
func (p *pluginEvents) wrote(dialect, plugin string, l pluginlog.Line) {
	if l.Level != "stderr" {
		p.poke()
	}
	p.post(logEvent, pluginEvent{Plugin: plugin, Dialect: dialect, Level: l.Level, Text: l.Text})
}

func (p *pluginEvents) denied(d pluginhost.Denial) {
	p.post(deniedEvent, pluginEvent{Plugin: d.Plugin, Dialect: d.Dialect, What: d.What, Detail: d.Detail, LeftOut: d.Dropped})
}

// post writes an event if the plugin's budget allows, and reports whether it did.
func (p *pluginEvents) post(kind string, e pluginEvent) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.open {
		return false
	}
	b := p.budget(budgetKey{kind, e.Dialect, e.Plugin})
	left, ok := b.spend(time.Now())
	if !ok {
		if kind != stateEvent { // compare posts a state again later
			b.leaveOut(1+e.LeftOut, func() { p.tellLeftOut(kind, e) })
		}
		return false
	}
	e.LeftOut += left
	if e.Text != "" {
		e.Text = excerpt.Head(p.core.secrets().Clean(e.Text), mostEventText)
	}
	p.core.post(kind, "", e)
	return true
}

// tellLeftOut writes an event that tells how many were left out, as soon as the budget allows.
func (p *pluginEvents) tellLeftOut(kind string, e pluginEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.budget(budgetKey{kind, e.Dialect, e.Plugin})
	if !p.open || b.left == 0 {
		return
	}
	left, ok := b.spend(time.Now())
	if !ok {
		b.timer.Reset(refillEvery)
		return
	}
	p.core.post(kind, "", pluginEvent{Plugin: e.Plugin, Dialect: e.Dialect, LeftOut: left})
}

func (p *pluginEvents) budget(key budgetKey) *budget {
	b := p.budgets[key]
	if b == nil {
		b = &budget{tokens: burst, at: time.Now()}
		p.budgets[key] = b
	}
	return b
}

// watch writes the changes of states until ctx ends.
func (p *pluginEvents) watch(ctx context.Context) {
	last := p.states()
	p.serve(true)
	defer p.serve(false)
	timer := time.NewTimer(0)
	defer timer.Stop()
	wait := lookAgain
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.soon:
			wait = lookAgain
			timer.Reset(exitDelay)
		case <-timer.C:
			if p.compare(last) {
				timer.Reset(wait)
				wait = min(2*wait, lookLater)
			}
		}
	}
}

// serve turns the events on or off.
func (p *pluginEvents) serve(open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = open
	for _, b := range p.budgets {
		if b.timer != nil && !open {
			b.timer.Stop()
		}
	}
}

// A pluginState is the state of a plugin.
type pluginState struct {
	name, dialect        string
	state, health, error string
	pid                  int
}

// states returns the states of all plugins, by dialect and path.
func (p *pluginEvents) states() map[string]pluginState {
	out := make(map[string]pluginState)
	for _, info := range p.core.Host.Plugins() {
		s := pluginState{name: info.Name, dialect: info.Dialect, state: string(info.State), health: info.Health}
		if info.Pid != nil {
			s.pid = *info.Pid
		}
		if info.Error != nil {
			s.error = *info.Error
		}
		out[info.Dialect+"\x00"+info.Path] = s
	}
	return out
}

// compare writes an event for each state that differs from last. It reports whether states must be
// compared again soon.
func (p *pluginEvents) compare(last map[string]pluginState) (unsettled bool) {
	now := p.states()
	for key, s := range now {
		unsettled = unsettled || s.health == dialect.HealthRestarting || s.health == dialect.HealthFailing
		if last[key] == s {
			continue
		}
		if !p.post(stateEvent, s.event()) {
			unsettled = true // the budget is used up: try again later
			continue
		}
		last[key] = s
	}
	for key, s := range maps.Collect(maps.All(last)) {
		if _, there := now[key]; !there && p.post(stateEvent, pluginEvent{Plugin: s.name, Dialect: s.dialect, State: "removed"}) {
			delete(last, key)
		}
	}
	return unsettled
}

func (s pluginState) event() pluginEvent {
	e := pluginEvent{Plugin: s.name, Dialect: s.dialect, State: s.state, Health: s.health}
	if s.pid != 0 {
		e.Pid = &s.pid
	}
	if s.error != "" {
		e.Error = &s.error
	}
	return e
}
