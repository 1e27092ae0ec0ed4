package tui

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/patchbay-dev/patchbay/internal/model"
)

// A screen is the program's state: a [tea.Model]. Only Bubble Tea's loop uses it, and calls one
// method at a time. Commands run in the background and get what they need as arguments.
type screen struct {
	ctx      context.Context // ends with the program
	talk     Conversation
	approver *Approver
	history  *history
	resume   string
	prompts  promptList
	banner   func() []BannerLine
	log      *slog.Logger
	calls    calls // the running calls to talk
	edit     func(context.Context, string) (string, error)
	offline  string                   // replaces the text about choosing a model
	short    func(path string) string // how a path is shown

	look    look
	ready   bool // the terminal has reported its size
	ticking bool // a tick is coming
	printer printer
	canvas  canvas
	input   *inputBox

	turn      *turn // the current turn; nil: none
	last      *turn // the turn before, for /trace
	queued    []string
	mentions  map[string][]string // the files that a message with pastes mentions
	ran       []string            // output of the user's commands, for the next message
	questions []*question         // of tools; the first is shown
	wizard    *wizard             // /plugin; nil: closed
	picker    *picker             // /sessions; nil: closed
	busy      string              // what else is running, such as a compaction; "": nothing
	busySince time.Time
	stopBusy  context.CancelFunc // nil: nothing is running
	running   *running           // with busy: a command of the user; nil: something else

	usage   model.Usage // of all turns here
	context contextSize
	plugins []PluginRow
	typed   time.Time // when the user last typed into the input
	ended   time.Time // when something last ended
	leaving bool
}

// The messages of the screen itself.
type (
	tickMsg    struct{}
	leaveMsg   struct{}
	pluginsMsg []PluginRow
	historyMsg struct {
		entries []string
		err     error
	}
	savedHistoryMsg struct{ err error }
)

func newScreen(ctx context.Context, c Conversation, o Options) *screen {
	s := &screen{ctx: ctx, talk: c, approver: o.Approver, history: &history{path: o.HistoryFile},
		resume: cmp.Or(o.Resume, DefaultResume), log: o.Logger, edit: o.Edit, offline: o.Hint,
		look: look{color: !o.NoColor, width: assumedWidth, height: assumedHeight}, canvas: newTermCanvas(o.Out)}
	if s.approver == nil {
		s.approver = NewApprover()
	}
	if s.short = o.Short; s.short == nil {
		s.short = func(path string) string { return path }
	}
	s.log = cmp.Or(s.log, slog.New(slog.DiscardHandler))
	s.input = newInputBox(s.look)
	s.input.offers = func(c command) []choice { return c.offer(s) }
	s.prompts, s.input.prompts, s.banner = o.Prompts, o.Prompts, o.Banner
	return s
}

// Init implements [tea.Model].
func (s *screen) Init() tea.Cmd {
	return tea.Batch(s.nextQuestion, s.refreshPlugins, s.loadHistory)
}

func (s *screen) refreshPlugins() tea.Msg { return pluginsMsg(s.talk.Plugins()) }

func (s *screen) loadHistory() tea.Msg {
	entries, err := s.history.load()
	return historyMsg{entries, err}
}

// Update implements [tea.Model]. After each message everything is drawn.
func (s *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := s.receive(msg)
	s.pauseClocks()
	if s.ready {
		s.scrollReply()
		live, cursor := s.frame()
		s.canvas.draw(s.printer.take(s.look), live, cursor)
	}
	if s.leaving && s.turn == nil && s.busy == "" {
		cmd = tea.Batch(cmd, tea.Quit)
	}
	return s, cmd
}

// View implements [tea.Model]. Bubble Tea draws nothing: see [canvas].
func (s *screen) View() tea.View { return tea.View{} }

func (s *screen) receive(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		return s.resize(msg)
	case restedMsg: // everything is drawn after each message
	case tea.KeyPressMsg:
		return s.key(msg)
	case tea.PasteMsg:
		return s.paste(msg)
	case tea.ColorProfileMsg:
		s.canvas.profile(msg.Profile)
	case tickMsg:
		return s.tick()
	case turnMsg:
		return s.turnItems(msg)
	case questionMsg:
		s.questions = append(s.questions, msg.question)
		return s.nextQuestion
	case pluginsMsg:
		s.plugins = msg
	case historyMsg:
		s.logError("read input history", msg.err)
		s.input.past.load(msg.entries)
	case savedHistoryMsg:
		s.logError("store input history", msg.err)
	case pathsMsg:
		s.gotPaths(msg)
	case ranMsg:
		return s.ranShell(msg)
	case editedMsg:
		s.edited(msg)
	case leaveMsg:
		s.leave()
	case compactedMsg:
		return s.compacted(msg)
	case sessionsMsg:
		return s.sessionsFound(msg)
	case switchedMsg:
		return s.switched(msg)
	default:
		return s.wizardMsg(msg)
	}
	return nil
}

// logError logs an error that does not affect the conversation.
func (s *screen) logError(what string, err error) {
	if err != nil {
		s.log.Warn(what, "err", err)
	}
}

// resize sets the terminal's size. The first time, the program prints its beginning.
func (s *screen) resize(msg tea.WindowSizeMsg) tea.Cmd {
	if msg.Width > 0 && msg.Height > 0 { // otherwise the terminal does not know its size, and the assumed one stays
		s.look.width, s.look.height = msg.Width, msg.Height
	}
	redraw := s.canvas.resize(s.look.width, s.look.height)
	s.input.resize(s.look)
	if s.wizard != nil {
		s.wizard.resize(s.look)
	}
	if !s.ready {
		s.ready = true
		s.hello()
	}
	return redraw
}

// startTicking starts the animation of the live part, unless it runs.
func (s *screen) startTicking() tea.Cmd {
	if s.ticking {
		return nil
	}
	s.ticking = true
	return tea.Tick(tickEvery, func(time.Time) tea.Msg { return tickMsg{} })
}

// tick continues while something is animated: an idle program uses no CPU time.
func (s *screen) tick() tea.Cmd {
	s.ticking = false
	s.pruneQuestions()
	if s.turn == nil && s.busy == "" && (s.wizard == nil || !s.wizard.working()) && s.mayLeave() {
		return nil
	}
	return s.startTicking()
}

// leave ends the program after the running turn was interrupted and stored.
func (s *screen) leave() {
	if s.leaving {
		return
	}
	s.leaving = true
	s.interrupt()
	if s.wizard != nil {
		s.wizard.stop()
		s.wizard = nil
	}
	if id := s.talk.Session().ID; id != "" && s.hasMessages() {
		s.printNote("go on with it: " + s.resume + " " + id)
	}
}
