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

// A conversation is one session of the agent, for the terminal program and for -p.
type conversation struct {
	core    *daemon.Core
	home    string // the user's home directory; "": unknown
	log     *slog.Logger
	plugins []string // the python plugins that take part; nil: all
	approve chat.Approver
	asks    *tui.Approver // asks the user on the terminal; nil: approve does not ask

	approvals  func(dir string) (approval.Project, error) // finds the approvals of a project; nil: the user is not asked
	remembered *approval.Project                          // the approvals of the session's project; nil: the user is not asked

	mu      sync.Mutex // protects the fields below: the screen reads them while a turn runs or the session changes
	session session.Session
	history []model.Message             // the messages when the session was opened
	sent    bool                        // a message was sent
	release func(context.Context) error // unregisters the session as open; nil: it is not registered

	prompts   []tui.PromptCommand // the project's prompts
	promptsOf string              // the directory that prompts were read for
	promptsAt time.Time           // when prompts were read
}

var _ tui.Conversation = (*conversation)(nil)

// remember loads the approvals of the session's project. Approvals of another session are
// forgotten.
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

// UseModel sets the model that answers.
func (c *conversation) UseModel(name string) error { return c.core.UseModel(name) }

// Intercepts reports whether a plugin can change messages before the model reads them.
func (c *conversation) Intercepts() bool {
	return c.core.Alters(c.Session().ID, c.plugins, hook.TurnInput)
}

// Plugins lists the plugins.
func (c *conversation) Plugins() []tui.PluginRow {
	var rows []tui.PluginRow
	for _, p := range c.core.Host.Plugins() {
		row := tui.PluginRow{Name: p.Name, Dialect: p.Dialect, State: string(p.State), Version: p.Version, Hooks: p.Hooks, Tools: p.Tools}
		if p.Error != nil {
			row.Error = *p.Error
		}
		if p.State == "ready" && !c.takesPart(p) {
			row.State, row.Error = tui.StateLeftOut, "not in --plugins"
		}
		rows = append(rows, row)
	}
	return rows
}

func (c *conversation) takesPart(p pluginhost.PluginInfo) bool {
	return c.plugins == nil || p.Dialect != pythonfile.Dialect || slices.Contains(c.plugins, p.Name) ||
		slices.Contains(c.plugins, trimExt(filepath.Base(p.Path)))
}

// checkPluginNames refuses names in --plugins that do not exist.
func (c *conversation) checkPluginNames(ctx context.Context) error {
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
				suggestName(name, names, "`patchbay plugin list --dialect python` lists the python plugins"))
		}
	}
	return nil
}

// Send runs a turn.
func (c *conversation) Send(ctx context.Context, text string, observe func(chat.Event)) (*chat.Result, error) {
	id := c.markSent()
	result, err := c.core.Turn(ctx, daemon.TurnRequest{Session: id, Text: text, Approve: c.approve, Observe: observe, Plugins: c.plugins})
	c.readTitle(context.WithoutCancel(ctx))
	return result, err
}

// Shell runs a command of the user.
func (c *conversation) Shell(ctx context.Context, line string, progress func(string)) (string, error) {
	output, err := c.core.Shell(ctx, daemon.ShellRequest{Session: c.Session(), Line: line, Plugins: c.plugins, Progress: progress})
	if fix := fixOf(err); err != nil && fix != "" {
		err = fmt.Errorf("%w\n%s", err, fix)
	}
	return output, err
}

// Compact makes the transcript shorter.
func (c *conversation) Compact(ctx context.Context, strategy string) (*session.Compaction, error) {
	return c.core.Compact(ctx, daemon.CompactRequest{Session: c.Session().ID, Strategy: strategy, Plugins: c.plugins})
}

// Estimate returns about how many tokens a model call with these messages has.
func (c *conversation) Estimate(messages []model.Message) int {
	return c.core.Estimate(c.Session(), messages)
}

// Generate writes the code of a plugin.
func (c *conversation) Generate(ctx context.Context, d tui.PluginDraft) (string, error) {
	return c.core.DraftPlugin(ctx, daemon.Draft(d))
}

// Validate returns what is wrong with the code of a plugin.
func (c *conversation) Validate(ctx context.Context, name, content string) error {
	_, err := pythonfile.Of(c.core.Host).Check(ctx, name, content)
	return err
}

// Save writes the file of a plugin and loads it. The plugin takes part from the next turn on,
// whatever --plugins said.
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
