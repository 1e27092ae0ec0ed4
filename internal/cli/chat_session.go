package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
	"github.com/patchbay-dev/patchbay/internal/tui"
)

// mostPicked limits the list of sessions to choose from: at most this many of the current
// directory, and at most as many of all directories. Reading more would take longer than a second.
const mostPicked = 1000

// flag returns the flag that names the session.
func (f *chatFlags) flag() string {
	if f.last {
		return "--continue"
	}
	return "--resume"
}

// completeResume completes session ids after --resume, with the equals sign and without.
func (a *app) completeResume(cmd *cobra.Command, f *chatFlags) {
	offer := func(cmd *cobra.Command, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.completeSessions(cmd.Context(), true, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
	err := cmd.RegisterFlagCompletionFunc("resume", func(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return offer(cmd, typed)
	})
	if err != nil {
		panic(err) // the caller has added the flag
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if f.resume != resumeChosen || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return offer(cmd, typed)
	}
}

// pickSession lets the user choose a session to continue.
func (a *app) pickSession(ctx context.Context, c *conversation) error {
	rows, more, err := c.Sessions(ctx)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return &problem{kind: kindNotFound, err: errors.New("there is no session to continue yet"), fix: "`patchbay chat` begins one"}
	}
	id, err := tui.PickSession(ctx, tui.Options{In: a.In, Out: a.Out, NoColor: !a.colors()}, rows, more)
	if errors.Is(err, tui.ErrGivenUp) {
		return &problem{kind: kindInterrupted, err: errors.New("no session was chosen"), told: true}
	}
	if err != nil {
		return err
	}
	c.session, err = c.find(ctx, id)
	return err
}

// Session returns the current session.
func (c *conversation) Session() session.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// History returns the messages that the session had when it was opened here.
func (c *conversation) History() []model.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.history
}

// Sessions lists the newest sessions that can be continued. Sessions without a message cannot.
func (c *conversation) Sessions(ctx context.Context) (rows []tui.SessionRow, more bool, err error) {
	for _, dir := range []string{c.core.Dir(), ""} { // sessions of this directory may be older than the newest of all
		found, older, err := c.core.Sessions.Search(ctx, session.Query{WorkingDir: dir, Own: true, Said: true, Limit: mostPicked})
		if err != nil {
			return nil, false, err
		}
		more = more || older
		for _, s := range found {
			if here := session.SameDir(s.WorkingDir, c.core.Dir()); here == (dir != "") {
				rows = append(rows, tui.SessionRow{ID: s.ID, Title: s.Title, Dir: fromHome(s.WorkingDir, c.home), Turns: s.Turns, Used: s.UsedAt, Here: here})
			}
		}
	}
	return rows, more, nil
}

// Switch continues another session, or begins a new one if id is "".
func (c *conversation) Switch(ctx context.Context, id string) error {
	next := &conversation{core: c.core, plugins: c.plugins, asks: c.asks}
	var err error
	if id == "" {
		next.session, err = next.create(ctx)
	} else {
		next.session, err = next.find(ctx, id)
	}
	if err != nil {
		return err
	}
	if err := next.open(ctx); err != nil {
		return err
	}
	if err := next.remember(c.approvals); err != nil {
		return errors.Join(err, next.end(ctx))
	}
	if err := c.end(ctx); err != nil {
		c.log.Warn("cannot end a session", "session", c.session.ID, "err", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session, c.history, c.release, c.sent, c.remembered = next.session, next.history, next.release, false, next.remembered
	return nil
}

func (c *conversation) create(ctx context.Context) (session.Session, error) {
	return c.core.Sessions.Create(ctx, session.Session{Plugins: c.plugins, WorkingDir: c.core.Dir(), From: session.FromChat})
}

// find returns the session with an id or the beginning of one. Sessions of other agents cannot be
// continued here.
func (c *conversation) find(ctx context.Context, id string) (session.Session, error) {
	found, err := c.core.Sessions.Find(ctx, strings.TrimSpace(id))
	if err == nil {
		err = checkOwnSession(found)
	}
	return found, err
}

// open reads the messages of the session, and registers that the session is in use.
func (c *conversation) open(ctx context.Context) (err error) {
	if c.history, err = c.core.Sessions.Messages(ctx, c.session.ID); err != nil {
		return err
	}
	c.release, err = c.core.Sessions.Open(ctx, c.session.ID)
	return err
}

// end tells the plugins that the session is over. A session without a message is deleted instead.
func (c *conversation) end(ctx context.Context) error {
	var released error
	if c.release != nil {
		released = c.release(ctx)
	}
	if !c.sent && len(c.history) == 0 {
		return errors.Join(released, c.core.Sessions.Delete(ctx, c.session.ID))
	}
	return errors.Join(released, c.core.End(ctx, c.session, c.plugins))
}

// markSent records that a message is sent, and returns the session's id.
func (c *conversation) markSent() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = true
	return c.session.ID
}

// readTitle reads the title that the session got with its first message. If that fails, the next
// turn tries again.
func (c *conversation) readTitle(ctx context.Context) {
	if c.Session().Title != "" {
		return
	}
	if now, err := c.core.Sessions.Get(ctx, c.Session().ID); err == nil {
		c.mu.Lock()
		c.session.Title = now.Title
		c.mu.Unlock()
	}
}
