package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/feature"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/pythonfile"
	"github.com/patchbay-dev/patchbay/internal/session"
	"github.com/patchbay-dev/patchbay/internal/sessionstore"
)

// A TurnRequest is a user's message for a session.
type TurnRequest struct {
	Session string
	Text    string
	Approve chat.Approver    // nil: everything is allowed
	Observe func(chat.Event) // nil: no observer
	Plugins []string         // the Python plugins that take part, in this order; nil: all

	choose chooser // replaces Plugins; nil: Plugins is used
}

// A chooser returns the Python plugins that take part in a turn of a session; nil: all.
type chooser func(session.Session) []string

// always returns a chooser of the same plugins for every session.
func always(plugins []string) chooser {
	return func(session.Session) []string { return plugins }
}

// Turn runs the agent with a user's message. The result shows how far the turn came, also with an
// error. It is nil only if the turn could not begin.
func (c *Core) Turn(ctx context.Context, r TurnRequest) (*chat.Result, error) {
	choose := r.choose
	if choose == nil {
		choose = always(r.Plugins)
	}
	var result *chat.Result
	err := c.withLease(ctx, r.Session, choose, func(ctx context.Context, t *sessionstore.Turn, host *pluginhost.Host) (session.Status, error) {
		c.refreshSources(ctx, host, r.Session, choose(t.Session()))
		var err error
		agent := c.agent(host, r.Approve)
		agent.Project = c.Instructions(host.Project()).Prompt()
		result, err = agent.Run(ctx, chat.Turn{ID: t.ID(), Session: t.Session(), Log: t, Text: r.Text,
			Observe: c.observer(r.Observe)})
		return result.Status, err
	})
	return result, err
}

// refreshSources searches for Python plugins again, so that this turn sees which plugins were
// added, removed or repaired since the last one. It logs a warning for each of the chosen plugins
// that does not work and is left out.
func (c *Core) refreshSources(ctx context.Context, host *pluginhost.Host, sessionID string, plugins []string) {
	sources, err := pythonfile.Of(host).List(ctx)
	if err != nil {
		c.log.Warn("cannot search for plugins again", "session", sessionID, "err", err)
		return
	}
	for _, name := range plugins {
		i := slices.IndexFunc(sources, func(s pythonfile.Source) bool { return s.File == name || s.Name == name })
		switch {
		case i < 0:
			c.log.Warn("plugin left out of the turn: there is no such file", "plugin", name, "session", sessionID,
				"fix", "put the file back, or take the name out of the plugins of the session")
		case sources[i].Err != nil:
			c.log.Warn("plugin left out of the turn", "plugin", name, "session", sessionID, "err", sources[i].Err)
		}
	}
}

// Compact makes a session's transcript shorter. It returns nil without an error if the transcript
// is already short enough.
func (c *Core) Compact(ctx context.Context, r CompactRequest) (*session.Compaction, error) {
	var compaction *session.Compaction
	err := c.withLease(ctx, r.Session, always(r.Plugins), func(ctx context.Context, t *sessionstore.Turn, host *pluginhost.Host) (session.Status, error) {
		var err error
		compaction, err = c.agent(host, nil).CompactNow(ctx, chat.Turn{ID: t.ID(), Session: t.Session(), Log: t,
			Observe: c.observer(nil)}, r.Strategy)
		if errors.Is(err, chat.ErrNothingToCompact) {
			return session.Done, nil
		}
		if err != nil {
			return session.Failed, err
		}
		return session.Done, nil
	})
	return compaction, err
}

// Estimate returns about how many tokens a model call with these messages of a session has.
func (c *Core) Estimate(s session.Session, messages []model.Message) int {
	agent := c.agent(c.Host, nil)
	agent.Project = c.Instructions(pluginhost.ProjectRoot(s.WorkingDir)).Prompt()
	return agent.Estimate(s, messages)
}

// A CompactRequest asks for a shorter transcript.
type CompactRequest struct {
	Session  string
	Strategy string   // "": the configured one
	Plugins  []string // as in [TurnRequest]
}

// End tells the plugins that a session has ended.
func (c *Core) End(ctx context.Context, s session.Session, plugins []string) error {
	host, done, err := c.projects.in(ctx, s.WorkingDir)
	if err != nil {
		return err
	}
	defer done()
	return c.agent(host, nil).End(scoped(ctx, s, plugins), s)
}

// scoped returns the context of events of a session.
func scoped(ctx context.Context, s session.Session, plugins []string) context.Context {
	ctx = hook.WithSession(ctx, s.ID)
	if plugins == nil {
		return ctx
	}
	return hook.WithChoice(ctx, hook.Choice{Dialect: pythonfile.Dialect, Plugins: plugins})
}

// A turnUse works on a session while its lease is held, with the plugins of its project.
type turnUse func(context.Context, *sessionstore.Turn, *pluginhost.Host) (session.Status, error)

// Alters reports whether a plugin of a session's turns can change an event at point.
func (c *Core) Alters(id string, plugins []string, point hook.Point) bool {
	return c.Host.Alters(scoped(context.Background(), session.Session{ID: id}, plugins), point)
}

// withLease holds a session's lease while use works with the session, and records how that ended.
func (c *Core) withLease(ctx context.Context, id string, choose chooser, use turnUse) error {
	ctx, done, err := c.running.begin(ctx, id)
	if err != nil {
		return err
	}
	defer done()
	t, err := c.Sessions.Begin(ctx, id, sessionstore.BeginOptions{})
	if err != nil {
		return err
	}
	status, err := c.inProject(scoped(t.Context(), t.Session(), choose(t.Session())), t, use)
	if endErr := t.End(ctx, status); endErr != nil {
		err = errors.Join(err, fmt.Errorf("session %s: %w", id, endErr))
	}
	return err
}

// inProject calls use with the plugins of the session's project.
func (c *Core) inProject(ctx context.Context, t *sessionstore.Turn, use turnUse) (session.Status, error) {
	host, done, err := c.projects.in(ctx, t.Session().WorkingDir)
	if err != nil {
		return session.Failed, err
	}
	defer done()
	return use(ctx, t, host)
}

// sessionPlugins returns the chooser for turns over HTTP: the plugins that the session names, if
// the feature is on. See docs/protocols/python.md, row P49.
func (c *Core) sessionPlugins(ctx context.Context) (chooser, error) {
	flag, err := c.Features.Get(ctx, feature.Plugins)
	if err != nil {
		return nil, err
	}
	if !flag.Enabled {
		return always([]string{}), nil
	}
	return func(s session.Session) []string { return s.Plugins }, nil
}

// errStopping is the error for a turn that is interrupted or refused because the process was told
// to end.
var errStopping = errors.New("patchbay is shutting down")

// interruptGrace limits how long Patchbay waits for interrupted turns: until their tools have
// stopped and their end is stored.
const interruptGrace = 30 * time.Second

// errInterrupted is the cause in the context of a turn that a client interrupted.
var errInterrupted = fmt.Errorf("interrupted by request: %w", context.Canceled)

// running holds the turns and runs of this process that have not ended. Several turns may wait for
// the lease of one session; each is in the list, so that each can be interrupted.
type running struct {
	mu       sync.Mutex // protects the fields below
	turns    map[*turnUnderWay]struct{}
	stopping bool
	all      sync.WaitGroup
}

type turnUnderWay struct {
	session string
	cancel  context.CancelCauseFunc
}

// begin registers a turn. Its context ends when the turn is interrupted.
func (r *running) begin(ctx context.Context, session string) (context.Context, func(), error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopping {
		return nil, nil, errStopping
	}
	ctx, cancel := context.WithCancelCause(ctx)
	mine := &turnUnderWay{session, cancel}
	if r.turns == nil {
		r.turns = make(map[*turnUnderWay]struct{})
	}
	r.turns[mine] = struct{}{}
	r.all.Add(1)
	return ctx, func() {
		r.mu.Lock()
		delete(r.turns, mine)
		r.mu.Unlock()
		cancel(nil)
		r.all.Done()
	}, nil
}

// interrupt interrupts a session's turns, and reports whether there were any.
func (r *running) interrupt(session string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := false
	for t := range r.turns {
		if t.session == session {
			t.cancel(errInterrupted)
			found = true
		}
	}
	return found
}

// stop lets no new turn begin.
func (r *running) stop() {
	r.mu.Lock()
	r.stopping = true
	r.mu.Unlock()
}

// wait waits until all turns have ended or ctx ends, and reports whether the turns have ended.
func (r *running) wait(ctx context.Context) bool {
	over := make(chan struct{})
	go func() {
		r.all.Wait()
		close(over)
	}()
	select {
	case <-over:
		return true
	case <-ctx.Done():
		return false
	}
}

// interruptAll interrupts all turns and waits until their ends are stored, but not longer than
// patience: a turn that ignores its context must not keep the process from ending. It reports
// whether all have ended.
func (r *running) interruptAll(patience time.Duration) bool {
	r.stop()
	r.mu.Lock()
	for t := range r.turns {
		t.cancel(fmt.Errorf("%w: %w", errStopping, context.Canceled))
	}
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return r.wait(ctx)
}
