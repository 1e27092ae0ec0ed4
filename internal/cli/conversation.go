package cli

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/approval"
	"github.com/patchbay-dev/patchbay/internal/daemon"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/pythonfile"
	"github.com/patchbay-dev/patchbay/internal/session"
	"github.com/patchbay-dev/patchbay/internal/tui"
)

// A conversation is one session of the agent's, as the terminal program and -p see it.
type conversation struct {
	core    *daemon.Core
	home    string // of the person; "": none is known
	log     *slog.Logger
	plugins []string // of code, that take part; nil: all
	approve chat.Approver
	asks    *tui.Approver // approve, where a person is asked; nil: nobody is

	approvals  func(dir string) (approval.Project, error) // finds what is remembered for a project; nil: no person is asked
	remembered *approval.Project                          // what runs without a question; nil: no person is asked

	mu      sync.Mutex // protects the fields below: the screen asks while a turn runs or the session is changed
	session session.Session
	history []model.Message             // as it was when the session was opened
	sent    bool                        // something was said
	release func(context.Context) error // it is not open here any more; nil: nobody was told that it is

	prompts   []tui.PromptCommand // of the project
	promptsOf string              // the directory they were read for
	promptsAt time.Time           // when
}

var _ tui.Conversation = (*conversation)(nil)

// remember has the person asked by what is remembered for the session's project. What was allowed
// in another session is forgotten.
func (c *conversation) remember(find func(dir string) (approval.Project, error)) error {
	if c.asks == nil {
		return nil
	}
	p, err := find(c.session.WorkingDir)
	if err != nil {
		return err
	}
	c.approvals, c.remembered = find, &p
	c.asks.Begin(p)
	return nil
}

func (c *conversation) Model() model.Info  { return c.core.Model().Info() }
func (c *conversation) Tools() []chat.Tool { return c.core.Tools() }

// UseModel has another model answer.
func (c *conversation) UseModel(name string) error { return c.core.UseModel(name) }

// Intercepts tells whether a plugin reads what is sent before the model does.
func (c *conversation) Intercepts() bool {
	return c.core.Alters(c.Session().ID, c.plugins, hook.TurnInput)
}

// Plugins lists who is there.
func (c *conversation) Plugins() []tui.PluginRow {
	var rows []tui.PluginRow
	for _, p := range c.core.Host.Plugins() {
		row := tui.PluginRow{Name: p.Name, Dialect: p.Dialect, State: string(p.State), Version: p.Version, Hooks: p.Hooks, Tools: p.Tools}
		if p.Error != nil {
			row.Error = *p.Error
		}
		if p.State == "ready" && !c.takesPart(p) {
			row.State, row.Error = "left out", "not in --plugins"
		}
		rows = append(rows, row)
	}
	return rows
}

func (c *conversation) takesPart(p pluginhost.PluginInfo) bool {
	return c.plugins == nil || p.Dialect != pythonfile.Dialect || slices.Contains(c.plugins, p.Name) ||
		slices.Contains(c.plugins, trimExt(filepath.Base(p.Path)))
}

// knownPlugins refuses names in --plugins that are not there.
func (c *conversation) knownPlugins(ctx context.Context) error {
	if c.plugins == nil {
		return nil
	}
	list, err := pythonfile.Of(c.core.Host).List(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, s := range list {
		names = append(names, s.Name, s.File)
	}
	for _, name := range c.plugins {
		if !slices.Contains(names, name) {
			return withFix(fmt.Errorf("--plugins: python plugin %s: %w", name, pluginhost.ErrNotFound),
				meant(name, names, "`patchbay plugin list --dialect python` lists them"))
		}
	}
	return nil
}

// Send runs a turn.
func (c *conversation) Send(ctx context.Context, text string, observe func(chat.Event)) (*chat.Result, error) {
	id := c.say()
	result, err := c.core.Turn(ctx, daemon.TurnRequest{Session: id, Text: text, Approve: c.approve, Observe: observe, Plugins: c.plugins})
	c.entitle(context.WithoutCancel(ctx))
	return result, err
}

// Shell runs a command of the person's own.
func (c *conversation) Shell(ctx context.Context, line string) (string, error) {
	output, err := c.core.Shell(ctx, daemon.ShellRequest{Session: c.Session(), Line: line, Plugins: c.plugins})
	if fix := fixOf(err); err != nil && fix != "" {
		err = fmt.Errorf("%w\n%s", err, fix)
	}
	return output, err
}

// Compact makes the transcript shorter.
func (c *conversation) Compact(ctx context.Context, strategy string) (*session.Compaction, error) {
	return c.core.Compact(ctx, daemon.CompactRequest{Session: c.Session().ID, Strategy: strategy, Plugins: c.plugins})
}

// Generate writes a plugin's code.
func (c *conversation) Generate(ctx context.Context, d tui.PluginDraft) (string, error) {
	return c.core.DraftPlugin(ctx, daemon.Draft(d))
}

// Validate says what is wrong with a plugin's code.
func (c *conversation) Validate(ctx context.Context, name, content string) error {
	_, err := pythonfile.Of(c.core.Host).Check(ctx, name, content)
	return err
}

// Save writes a plugin's file and loads it. It takes part from the next turn on, whatever --plugins
// said.
func (c *conversation) Save(ctx context.Context, name, content string, replace bool) (string, error) {
	save := pythonfile.Of(c.core.Host).Create
	if replace {
		save = pythonfile.Of(c.core.Host).Save
	}
	saved, err := save(ctx, name, content)
	if err == nil && c.plugins != nil && !slices.Contains(c.plugins, saved.Name) {
		c.plugins = append(slices.Clone(c.plugins), saved.Name)
	}
	return saved.Path, err
}
