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
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/pythonfile"
	"github.com/patchbay-dev/patchbay/internal/session"
	"github.com/patchbay-dev/patchbay/internal/sessionstore"
)

// A TurnRequest is a message for a session.
type TurnRequest struct {
	Session string
	Text    string
	Approve chat.Approver    // nil: everything is allowed
	Observe func(chat.Event) // nil: nobody watches
	Plugins []string         // the plugins of code that take part, in this order; nil: all of them
}

// Turn takes a message of the user's through the agent. The result has how far it came, whatever
// the error; it is nil only where the turn could not begin.
func (c *Core) Turn(ctx context.Context, r TurnRequest) (*chat.Result, error) {
	var result *chat.Result
	err := c.withLease(ctx, r.Session, r.Plugins, func(ctx context.Context, t *sessionstore.Turn, host *pluginhost.Host) (session.Status, error) {
		c.refreshSources(ctx, host, r)
		var err error
		agent := c.agent(host, r.Approve)
		agent.Project = c.Instructions(host.Project()).Prompt()
		result, err = agent.Run(ctx, chat.Turn{ID: t.ID(), Session: t.Session(), Log: t, Text: r.Text,
			Observe: c.observer(r.Observe)})
		return result.Status, err
	})
	return result, err
}

// refreshSources finds out which plugins of code there are now: those that have come, gone or been mended
// since the last turn act so in this one. Of those that the turn names, one that does not work is
// left out with a warning.
func (c *Core) refreshSources(ctx context.Context, host *pluginhost.Host, r TurnRequest) {
	sources, err := pythonfile.Of(host).List(ctx)
	if err != nil {
		c.log.Warn("plugins are as they were", "session", r.Session, "err", err)
		return
	}
	for _, name := range r.Plugins {
		i := slices.IndexFunc(sources, func(s pythonfile.Source) bool { return s.File == name || s.Name == name })
		switch {
		case i < 0:
			c.log.Warn("plugin left out of the turn: there is no such file", "plugin", name, "session", r.Session)
		case sources[i].Err != nil:
			c.log.Warn("plugin left out of the turn", "plugin", name, "session", r.Session, "err", sources[i].Err)
		}
	}
}

// Compact makes a session's transcript shorter. Nil without an error is a transcript that is short
// enough.
func (c *Core) Compact(ctx context.Context, r CompactRequest) (*session.Compaction, error) {
	var compaction *session.Compaction
	err := c.withLease(ctx, r.Session, r.Plugins, func(ctx context.Context, t *sessionstore.Turn, host *pluginhost.Host) (session.Status, error) {
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

// A CompactRequest asks for a shorter transcript.
type CompactRequest struct {
	Session  string
	Strategy string   // "": the configured one
	Plugins  []string // as in [TurnRequest]
}

// End tells the plugins that a session is over.
func (c *Core) End(ctx context.Context, s session.Session, plugins []string) error {
	host, done, err := c.projects.in(ctx, s.WorkingDir)
	if err != nil {
		return err
	}
	defer done()
	return c.agent(host, nil).End(scoped(ctx, s, plugins), s)
}

// scoped is the context of what is fired for a session.
func scoped(ctx context.Context, s session.Session, plugins []string) context.Context {
	ctx = hook.WithSession(ctx, s.ID)
	if plugins == nil {
		return ctx
	}
	return hook.WithChoice(ctx, hook.Choice{Dialect: pythonfile.Dialect, Plugins: plugins})
}

// A turnUse is work on a session whose lease is held, with the plugins of its project.
type turnUse func(context.Context, *sessionstore.Turn, *pluginhost.Host) (session.Status, error)

// Alters tells whether a plugin takes part in a session's turns that can change what becomes of an
// event at point.
func (c *Core) Alters(id string, plugins []string, point hook.Point) bool {
	return c.Host.Alters(scoped(context.Background(), session.Session{ID: id}, plugins), point)
}

// withLease keeps a session's lease while use works with it, and records how that ended.
func (c *Core) withLease(ctx context.Context, id string, plugins []string, use turnUse) error {
	ctx, done, err := c.running.begin(ctx, id)
	if err != nil {
		return err
	}
	defer done()
	t, err := c.Sessions.Begin(ctx, id, sessionstore.BeginOptions{})
	if err != nil {
		return err
	}
	status, err := c.inProject(scoped(t.Context(), t.Session(), plugins), t, use)
	if endErr := t.End(ctx, status); endErr != nil {
		err = errors.Join(err, fmt.Errorf("session %s: %w", id, endErr))
	}
	return err
}

// inProject has the work on a session done with the plugins of the session's project.
func (c *Core) inProject(ctx context.Context, t *sessionstore.Turn, use turnUse) (session.Status, error) {
	host, done, err := c.projects.in(ctx, t.Session().WorkingDir)
	if err != nil {
		return session.Failed, err
	}
	defer done()
	return use(ctx, t, host)
}

// chosen returns the python plugins that take part in a session's turns: those that the session
// names, while the feature is on. See docs/protocols/python.md, row P49.
func (c *Core) chosen(ctx context.Context, id string) ([]string, error) {
	s, err := c.Sessions.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	flag, err := c.Features.Get(ctx, feature.Plugins)
	if err != nil {
		return nil, err
	}
	if !flag.Enabled {
		return []string{}, nil
	}
	return s.Plugins, nil
}

// errStopping is why a turn was interrupted, or not begun, when its process was told to end.
var errStopping = errors.New("patchbay is shutting down")

// interruptGrace bounds the wait for turns that were interrupted: for their tools to be stopped,
// and for their end to be kept.
const interruptGrace = 30 * time.Second

// errInterrupted is why a turn ended that somebody asked to be ended.
var errInterrupted = fmt.Errorf("interrupted by request: %w", context.Canceled)

// running knows the turns and runs under way in this process. A session may have several that want
// its lease: each is known, so that each can be interrupted.
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

// begin makes a turn known. Its context ends when somebody interrupts it.
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

// interrupt ends a session's turns, and says whether there were any.
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

// stop lets no turn begin any more.
func (r *running) stop() {
	r.mu.Lock()
	r.stopping = true
	r.mu.Unlock()
}

// wait waits for the turns under way to end, as long as ctx lasts, and says whether they have.
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

// interruptAll ends the turns under way and waits until they are kept, for a while: a turn that
// does not heed its context must not keep the process from ending. It says whether all have ended.
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
