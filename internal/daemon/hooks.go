package daemon

import (
	"cmp"
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
	"github.com/patchbay-dev/patchbay/internal/hookclient"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// hooks implements [httpapi.Hooks]: it answers the hooks of other agents. One event:
//
//	Answer
//	├─ hostState.isDouble  drops an event of a tool call that came through the hook of another agent too
//	├─ hostState.turn      the agent's turn is one request
//	├─ projects.in         the plugins that work in the event's project
//	├─ isOwnCall           drops a call of our own MCP server, which asks the plugins itself
//	├─ Moment.Fire         fires the points of the event; returns the answer in the agent's format
//	└─ hostRecords.add     session and traces, which are written after the agent has its answer
//
// It takes no lease, because agents call their hooks concurrently and nothing is written to a
// transcript; turns are only counted.
type hooks struct {
	*Core
	only bool // the daemon was started by a hook: it serves only clients of its own version
}

const (
	// hookTime is how long an event may take if its agent does not say.
	hookTime = 59 * time.Second
	// hookMargin is how long before the client's deadline the answer is sent, whether all plugins
	// have answered or not.
	hookMargin = 100 * time.Millisecond
)

// Answer implements [httpapi.Hooks].
func (h hooks) Answer(ctx context.Context, agent string, r httpapi.HookRequest) (httpapi.HookAnswer, error) {
	switch {
	case !codehook.Agent(agent).Known():
		return httpapi.HookAnswer{}, httpapi.ErrNoAgent
	case r.Protocol != hookclient.Protocol:
		return httpapi.HookAnswer{}, httpapi.ErrOtherProtocol
	case h.only && r.Version != "" && r.Version != h.version:
		return httpapi.HookAnswer{}, httpapi.ErrOtherVersion
	}
	a, err := h.AnswerHook(ctx, codehook.Agent(agent), hookclient.Request(r))
	if err != nil {
		return httpapi.HookAnswer{}, err
	}
	return httpapi.HookAnswer{Stdout: a.Stdout, Stderr: a.Stderr, ExitCode: a.ExitCode, Notes: a.Notes}, nil
}

// AnswerHook fires the points of an event of another agent, and returns the answer.
func (c *Core) AnswerHook(ctx context.Context, agent codehook.Agent, r hookclient.Request) (*hookclient.Answer, error) {
	m, err := r.Moment(agent)
	if err != nil {
		return nil, &httpapi.InvalidRequestError{Reason: err.Error()}
	}
	if len(m.Points()) == 0 || c.hosts.isDouble(m) {
		return &hookclient.Answer{Answer: m.NoOpinion()}, nil
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
	if result == nil {
		return &hookclient.Answer{Answer: m.NoOpinion()}, nil
	}
	if errors.Is(context.Cause(ctx), errStopping) { // the hook asks the daemon that takes this one's place
		return nil, &httpapi.UnavailableError{Reason: errStopping.Error()}
	}
	c.hostRecords.add(c, func(ctx context.Context) { e.record(ctx, result) })
	return &hookclient.Answer{Answer: result.Answer, Notes: result.Notes}, nil
}

// A hostEvent is one event of another agent.
type hostEvent struct {
	*Core
	*codehook.Moment
	session string // our session id; "": the agent has none
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

// fire asks the plugins of the event's project. It returns nil if the event is a call of a tool
// that our own MCP server offers, because that server asks them.
func (e *hostEvent) fire(ctx context.Context, dir string) *codehook.Result {
	host, done, err := e.plugins(ctx, dir)
	if err != nil {
		return e.unasked(dir, err)
	}
	defer done()
	if e.isOwnCall(host) {
		return nil
	}
	if e.Begins || slices.Contains(e.Points(), hook.SessionStart) {
		e.lookAgain(ctx, host)
	}
	e.Root = host.Project()
	ctx = hook.WithRequest(hook.WithSession(ctx, e.session), e.turn)
	return e.Moment.Fire(ctx, host)
}

// plugins returns the plugins of the event's project. If its directory is gone, perhaps deleted by
// the agent itself, it returns the daemon's own plugins, so that plugins that must be asked are
// asked.
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

// lookAgain searches for plugins again, as before a turn of our own agent. A daemon that a hook has
// started also reads its files again if they have changed, because no user knows of this daemon and
// reloads it.
func (e *hostEvent) lookAgain(ctx context.Context, host *pluginhost.Host) {
	if e.forHooks && e.hosts.filesChanged(e.files.Load().Stamp, pluginhost.StampOf(e.Dirs)) {
		e.reloadFor(ctx, host)
		return
	}
	if err := host.Refresh(ctx); err != nil && !errors.Is(err, pluginhost.ErrClosed) {
		e.log.Warn("cannot search for plugins again", "session", e.session, "err", err)
	}
}

// unasked returns the answer for the case that the plugins of a project cannot be asked: the
// project's configuration is wrong, or they do not start in time. The answer is a refusal if a
// plugin must be asked. It is also one if the configuration is wrong, because a correct one may say
// that a plugin must be asked.
func (e *hostEvent) unasked(dir string, err error) *codehook.Result {
	e.log.Warn("plugins could not be asked", "agent", string(e.Agent), "event", e.Event, "session", e.session, "err", err)
	r := &codehook.Result{Answer: e.NoOpinion(), Notes: []string{"plugins could not be asked: " + err.Error()}}
	closed := e.closedIn(cmp.Or(e.Moment.Dir, dir), e.Points())
	switch {
	case !e.Gates():
	case is[*config.Error](err):
		r.Answer = e.Refuse(fmt.Sprintf("plugins could not be asked, because the configuration for this project has an error, and it may say that a plugin has to agree. Correct it: %v", err))
	case len(closed) > 0:
		r.Answer = e.Refuse(fmt.Sprintf("plugins could not be asked, and %s has to agree: %v", strings.Join(closed, ", "), err))
	}
	return r
}
