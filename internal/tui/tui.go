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

// A Conversation is one session with the agent, as the program sees it. Methods with a context may
// take long: they are called on their own goroutines, and return soon after their context has
// ended. The others are quick.
type Conversation interface {
	Session() session.Session
	Model() model.Info
	History() []model.Message // the messages that the session had when it was opened here; empty for a new one
	Plugins() []PluginRow
	Tools() []chat.Tool
	// UseModel switches to another model, PROVIDER:NAME, from the next turn on.
	UseModel(name string) error
	// Intercepts reports whether a plugin takes part that can rewrite or drop messages, and so may
	// have its own commands.
	Intercepts() bool

	// Send runs a turn. It calls observe with each event, one at a time, until it returns. A turn
	// that failed has a result as well as an error.
	Send(ctx context.Context, text string, observe func(chat.Event)) (*chat.Result, error)
	// Shell runs a command of the user in the working directory, and returns its output and how it
	// ended. Until then it calls progress with each piece of the output. The error says why it did
	// not run.
	Shell(ctx context.Context, line string, progress func(string)) (output string, err error)
	// Estimate returns about how many tokens a model call with these messages has, with the prompt
	// and the tools.
	Estimate(messages []model.Message) int
	// Compact compacts the transcript; "" is the configured strategy. It returns nil without an
	// error if there was nothing to compact.
	Compact(ctx context.Context, strategy string) (*session.Compaction, error)

	SessionChanger
	PluginWriter
}

// A PluginWriter makes new python plugins.
type PluginWriter interface {
	// Generate writes the plugin's source.
	Generate(ctx context.Context, d PluginDraft) (content string, err error)
	// Validate returns what is wrong with a source, without saving it.
	Validate(ctx context.Context, name, content string) error
	// Save writes the file and loads the plugin for the next turn. If the file exists and replace
	// is not set, the error wraps [fs.ErrExist], and path names the file.
	Save(ctx context.Context, name, content string, replace bool) (path string, err error)
}

// A PluginRow is a plugin in the list of /plugins.
type PluginRow struct {
	Name    string
	Dialect string
	State   string // ready | broken | disabled | skipped | unsupported | left out
	Version string
	Hooks   []string // in the dialect's own words
	Tools   []string
	Error   string // why it is not ready
}

// A PluginDraft describes a new plugin.
type PluginDraft struct {
	Name        string
	Description string   // what it should do, in the user's words
	Hooks       []string // python hooks; none: those that the description needs

	// Set after an earlier try: its source, and what was wrong with it or should be different.
	Previous string
	Feedback string
}

// Options say where the program runs. Only In and Out are required.
type Options struct {
	In  io.Reader // the terminal
	Out io.Writer // the same terminal

	NoColor     bool
	HistoryFile string                   // where the typed messages are stored; "": nowhere
	Approver    *Approver                // asks the user about tools; nil: no questions
	Resume      string                   // the command that resumes a session, before its id; "": DefaultResume
	Short       func(path string) string // shortens a path for the reader; nil: paths are shown whole
	Hint        string                   // shown if the offline model answers, instead of how to choose a model; "": how to choose one
	Logger      *slog.Logger             // nil: no log

	// Edit opens a text in the user's editor, which uses the terminal meanwhile; nil: there is no
	// editor.
	Edit func(ctx context.Context, text string) (string, error)

	Prompts func() []PromptCommand // called whenever they are shown or used; nil: none
	Banner  func() []BannerLine    // more lines for the start of a session; nil: none
}

// A BannerLine is printed at the start.
type BannerLine struct {
	Text    string
	Warning bool
}

// DefaultResume is the command that resumes a session; the id follows.
const DefaultResume = "patchbay chat --resume"

// Run shows the conversation until the user leaves or ctx ends, which is not an error. When it
// returns, no call to c is running, and the terminal is as it was.
func Run(ctx context.Context, c Conversation, o Options) error {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	s := newScreen(inner, c, o)
	defer s.approver.close()

	p := tea.NewProgram(s, programOptions(o, s.canvas)...)
	defer s.canvas.release()
	// If the context ends, the program leaves as a user would: the turn is interrupted and stored,
	// and finished lines are printed before the screen goes.
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
		tea.WithWindowSize(assumedWidth, assumedHeight), // for an output without a size
		tea.WithoutSignalHandler(),                      // the caller handles signals, and ends ctx
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
