package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// A Conversation is one session with the agent, as the program sees it. Methods that take a context
// may take long and are called on goroutines of their own; they return soon after their context has
// ended. The others are quick.
type Conversation interface {
	Session() session.Session
	Model() model.Info
	History() []model.Message // the transcript so far; more than none where a session is resumed
	Plugins() []PluginRow
	Tools() []chat.Tool
	// UseModel has another model answer, PROVIDER:NAME, from the next turn on.
	UseModel(name string) error
	// Intercepts tells whether a plugin takes part that can rewrite or drop what is sent, and so
	// may have commands of its own.
	Intercepts() bool

	// Send runs a turn. What happens is handed to observe, one event at a time, until Send returns.
	// A turn that ended badly has a result as well as an error.
	Send(ctx context.Context, text string, observe func(chat.Event)) (*chat.Result, error)
	// Shell runs a command of the person's own in the working directory, and returns what it
	// printed and how it ended. The error says why it did not run.
	Shell(ctx context.Context, line string) (output string, err error)
	// Compact makes the transcript shorter; "" is the configured strategy. A nil compaction without
	// an error says that there was nothing to make shorter.
	Compact(ctx context.Context, strategy string) (*session.Compaction, error)

	SessionChanger
	PluginWriter
}

// A PluginWriter makes new python plugins.
type PluginWriter interface {
	// Generate writes the plugin's source.
	Generate(ctx context.Context, d PluginDraft) (content string, err error)
	// Validate says what is wrong with a source, without saving it.
	Validate(ctx context.Context, name, content string) error
	// Save writes the file and loads the plugin, so that the next turn has it. A file that is there
	// stays, unless it is to be replaced: the error then wraps [fs.ErrExist], and path says where
	// it is.
	Save(ctx context.Context, name, content string, replace bool) (path string, err error)
}

// A PluginRow is a plugin as /plugins lists it.
type PluginRow struct {
	Name    string
	Dialect string
	State   string // ready | broken | disabled | skipped | unsupported
	Version string
	Hooks   []string // in the dialect's own words
	Tools   []string
	Error   string // why it is not ready
}

// A PluginDraft says what a new plugin is to be.
type PluginDraft struct {
	Name        string
	Description string   // what it should do, in the person's words
	Hooks       []string // python hooks; none: whichever the description needs

	// Set where there was a try before: its source, and what was wrong with it or what should be
	// different.
	Previous string
	Feedback string
}

// Options say where the program runs. In and Out are needed, the rest is not.
type Options struct {
	In  io.Reader // the terminal
	Out io.Writer // the same terminal

	NoColor     bool
	HistoryFile string       // what was typed is kept there across runs; "": nowhere
	Approver    *Approver    // whose questions are put to the person; nil: nobody asks
	Resume      string       // the command that takes a session up again, before its id; "": DefaultResume
	Hint        string       // said where the offline model answers, in place of how to choose one; "": that
	Logger      *slog.Logger // nil discards

	// Edit has a text edited in the person's editor, which has the terminal meanwhile; nil: there
	// is no way to.
	Edit func(ctx context.Context, text string) (string, error)

	Prompts func() []PromptCommand // asked whenever they are shown or used; nil: there are none
	Banner  func() []BannerLine    // what else is said at the start of a session; nil: nothing
}

// A BannerLine is something that is said at the start.
type BannerLine struct {
	Text    string
	Warning bool
}

// DefaultResume is the command that takes up a session whose id follows.
const DefaultResume = "patchbay chat --resume"

// Run shows the conversation until the person leaves or ctx ends, which is no error. When it
// returns no call to c is under way, and the terminal is as it was.
func Run(ctx context.Context, c Conversation, o Options) error {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	s := newScreen(inner, c, o)
	defer s.approver.close()

	p := tea.NewProgram(s, programOptions(o, s.canvas)...)
	defer s.canvas.release()
	// A context that ends makes the program leave as a person would: the turn is interrupted and
	// kept, and what is finished is printed before the screen goes.
	stop := context.AfterFunc(ctx, func() { p.Send(leaveMsg{}) })
	defer stop()

	_, err := p.Run()
	cancel()
	return errors.Join(programError(err), s.calls.close())
}

func programOptions(o Options, c canvas) []tea.ProgramOption {
	options := []tea.ProgramOption{
		tea.WithInput(o.In),
		tea.WithOutput(silenced(o.Out)),
		tea.WithFilter(releasing(c)),
		tea.WithWindowSize(assumedWidth, assumedHeight), // for an output that has no size of its own
		tea.WithoutSignalHandler(),                      // signals are the caller's, and reach us as the end of ctx
	}
	if o.NoColor {
		options = append(options, tea.WithColorProfile(colorprofile.Ascii))
	}
	return options
}

func programError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("terminal: %w", err)
}
