package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/hookroad"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// hooks answers the hooks of other agents. One event:
//
//	Answer
//	├─ hostState.isDouble  the same event of a tool call, sent once more for another agent's sake
//	├─ projects.in         the plugins that work in the event's project
//	├─ hostState.turn      the agent's turn is one request
//	├─ Moment.Fire         the points that the event stands for; the answer in the agent's words
//	└─ hostRecords.add     session and traces, which are written when the agent has its answer
//
// It takes no lease: agents call side by side, and of what they say nothing is written to a
// transcript; turns are only counted.
type hooks struct {
	*Core
	only bool // the daemon was started by a hook: it serves clients of its own version alone
}

const (
	// hookTime is how long an event may take whose agent does not say.
	hookTime = 59 * time.Second
	// hookMargin is how long before the client's deadline an answer is made, whatever plugins do.
	hookMargin = 100 * time.Millisecond
)

// Answer implements [httpapi.Hooks].
func (h hooks) Answer(ctx context.Context, agent string, r httpapi.HookRequest) (httpapi.HookAnswer, error) {
	switch {
	case !codehook.Agent(agent).Known():
		return httpapi.HookAnswer{}, httpapi.ErrNoAgent
	case r.Protocol != hookroad.Protocol:
		return httpapi.HookAnswer{}, httpapi.ErrOtherProtocol
	case h.only && r.Version != "" && r.Version != h.version:
		return httpapi.HookAnswer{}, httpapi.ErrOtherVersion
	}
	a, err := h.AnswerHook(ctx, codehook.Agent(agent), hookroad.Request(r))
	if err != nil {
		return httpapi.HookAnswer{}, err
	}
	return httpapi.HookAnswer{Stdout: a.Stdout, Stderr: a.Stderr, ExitCode: a.ExitCode, Notes: a.Notes}, nil
}

// AnswerHook asks the plugins about an event of another agent.
func (c *Core) AnswerHook(ctx context.Context, agent codehook.Agent, r hookroad.Request) (*hookroad.Answer, error) {
	m, err := r.Moment(agent)
	if err != nil {
		return nil, &httpapi.InvalidRequestError{Reason: err.Error()}
	}
	if len(m.Points()) == 0 || c.hosts.isDouble(m) {
		return &hookroad.Answer{Answer: m.NoOpinion()}, nil
	}
	e := c.newHostEvent(m)
	ctx, done, err := c.running.begin(ctx, e.session)
	if err != nil {
		return nil, &httpapi.UnavailableError{Reason: err.Error()}
	}
	defer done()
	limit := hookTime
	if r.Deadline > 0 {
		limit = time.Duration(r.Deadline) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(ctx, max(limit-hookMargin, limit/2))
	defer cancel()
	result := e.fire(ctx, r.Dir)
	if errors.Is(context.Cause(ctx), errStopping) { // whoever takes our place is asked again
		return nil, &httpapi.UnavailableError{Reason: errStopping.Error()}
	}
	c.hostRecords.add(c, func(ctx context.Context) { e.record(ctx, result) })
	return &hookroad.Answer{Answer: result.Answer, Notes: result.Notes}, nil
}

// A hostEvent is an event of another agent on its way through the plugins.
type hostEvent struct {
	*Core
	*codehook.Moment
	session string // ours; "": the agent has none
	turn    string
}

func (c *Core) newHostEvent(m *codehook.Moment) *hostEvent {
	e := &hostEvent{Core: c, Moment: m}
	if m.Session != "" {
		e.session = session.HostID(string(m.Agent), m.Session)
		e.turn = c.hosts.turn(e.session, m)
	}
	return e
}

// fire asks the plugins of the project that the event is about.
func (e *hostEvent) fire(ctx context.Context, dir string) *codehook.Result {
	host, done, err := e.plugins(ctx, dir)
	if err != nil {
		return e.unasked(err)
	}
	defer done()
	if e.Begins || slices.Contains(e.Points(), hook.SessionStart) {
		e.lookAgain(ctx, host)
	}
	e.Root = host.Project()
	ctx = hook.WithRequest(hook.WithSession(ctx, e.session), e.turn)
	return e.Moment.Fire(ctx, host)
}

// plugins are those of the project of the event's directory. Where that is gone, be it by the
// agent's own doing, they are the daemon's own: who has to be asked is asked.
func (e *hostEvent) plugins(ctx context.Context, dir string) (*pluginhost.Host, func(), error) {
	if e.Moment.Dir != "" {
		dir = e.Moment.Dir
	}
	host, done, err := e.projects.in(ctx, dir)
	if is[*NoDirectoryError](err) {
		return e.projects.in(ctx, "")
	}
	return host, done, err
}

// lookAgain finds out which plugins there are now, as before a turn of our own. A daemon that a
// hook has started also reads its files again where they have changed: nobody knows that it is
// there to be told.
func (e *hostEvent) lookAgain(ctx context.Context, host *pluginhost.Host) {
	if e.forHooks && e.hosts.filesChanged(e.Dirs.ConfigFile, e.Dirs.SecretsFile) {
		_ = e.Reload(ctx) // it tells of its error, and everything stays as it was
		return
	}
	if err := host.Refresh(ctx); err != nil && !errors.Is(err, pluginhost.ErrClosed) {
		e.log.Warn("plugins are as they were", "session", e.session, "err", err)
	}
}

// unasked is what an agent is told where the plugins of a project cannot be had, because its
// configuration is at fault or they do not start in time. Who has to be asked stays in the way.
func (e *hostEvent) unasked(err error) *codehook.Result {
	e.log.Warn("plugins could not be asked", "agent", string(e.Agent), "event", e.Event, "session", e.session, "err", err)
	r := &codehook.Result{Answer: e.NoOpinion(), Notes: []string{"plugins could not be asked: " + err.Error()}}
	var closed []string
	for _, p := range e.Points() {
		closed = append(closed, e.Host.Closed(p)...)
	}
	if (len(closed) > 0 || is[*config.Error](err)) && e.Gates() {
		r.Answer = e.Refuse(fmt.Sprintf("plugins could not be asked, and %s has to agree: %v", strings.Join(closed, ", "), err))
	}
	return r
}
