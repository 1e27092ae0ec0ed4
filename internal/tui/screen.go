package tui

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/patchbay-dev/patchbay/internal/model"
)

// A screen is the program's state: a [tea.Model]. Only Bubble Tea's loop, which calls one method at
// a time, touches it; commands run beside the loop and get what they need as arguments.
type screen struct {
	ctx      context.Context // ends with the program
	talk     Conversation
	approver *Approver
	history  *history
	resume   string
	prompts  promptList
	banner   func() []BannerLine
	log      *slog.Logger
	calls    calls // to talk, under way
	edit     func(context.Context, string) (string, error)
	offline  string // in place of how to choose a model

	look    look
	ready   bool // the terminal has told its size
	ticking bool // a tick is on its way
	printer printer
	canvas  canvas
	input   *inputBox

	turn      *turn // under way; nil: none
	last      *turn // the one before, for /trace
	queued    []string
	mentions  map[string][]string // the files that a message with pastes mentions
	ran       []string            // output of the person's commands, for the next message
	questions []*question         // that tools wait for; the first is shown
	wizard    *wizard             // /plugin; nil: not now
	picker    *picker             // /sessions; nil: not now
	busy      string              // what else is under way, such as compacting; "": nothing
	busySince time.Time
	stopBusy  context.CancelFunc // nil: nothing

	usage   model.Usage // of the turns here, together
	context contextSize
	plugins []PluginRow
	typed   time.Time // when the person last typed into the input
	ended   time.Time // when something was last ended, by itself or by the person
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
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.input = newInputBox(s.look)
	s.input.offers = func(c command) []choice { return c.offer(s) }
	s.prompts, s.input.prompts, s.banner = o.Prompts, o.Prompts, o.Banner
	return s
}

// Init is a [tea.Model]'s.
func (s *screen) Init() tea.Cmd {
	return tea.Batch(s.nextQuestion, s.refreshPlugins, s.loadHistory)
}

func (s *screen) refreshPlugins() tea.Msg { return pluginsMsg(s.talk.Plugins()) }

func (s *screen) loadHistory() tea.Msg {
	entries, err := s.history.load()
	return historyMsg{entries, err}
}

// Update is a [tea.Model]'s. Whatever a message did, it is drawn at once.
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

// View is a [tea.Model]'s. Bubble Tea draws nothing: see [canvas].
func (s *screen) View() tea.View { return tea.View{} }

func (s *screen) receive(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		return s.resize(msg)
	case restedMsg: // everything is drawn after a message
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
		s.logged("read input history", msg.err)
		s.input.past.load(msg.entries)
	case savedHistoryMsg:
		s.logged("keep input history", msg.err)
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

// logged logs an error that is nothing to the conversation.
func (s *screen) logged(what string, err error) {
	if err != nil {
		s.log.Warn(what, "err", err)
	}
}

// resize takes the terminal's size; the first time, the program says hello.
func (s *screen) resize(msg tea.WindowSizeMsg) tea.Cmd {
	if msg.Width > 0 && msg.Height > 0 { // else the terminal does not know, and what was assumed will do
		s.look.width, s.look.height = msg.Width, msg.Height
	}
	settled := s.canvas.resize(s.look.width, s.look.height)
	s.input.resize(s.look)
	if s.wizard != nil {
		s.wizard.resize(s.look)
	}
	if !s.ready {
		s.ready = true
		s.hello()
	}
	return settled
}

// startTicking makes the live part move, unless it does.
func (s *screen) startTicking() tea.Cmd {
	if s.ticking {
		return nil
	}
	s.ticking = true
	return tea.Tick(tickEvery, func(time.Time) tea.Msg { return tickMsg{} })
}

// tick goes on for as long as something moves: an idle program takes no time.
func (s *screen) tick() tea.Cmd {
	s.ticking = false
	s.pruneQuestions()
	if s.turn == nil && s.busy == "" && (s.wizard == nil || !s.wizard.working()) && s.mayLeave() {
		return nil
	}
	return s.startTicking()
}

// leave ends the program once a turn that runs has been interrupted and kept.
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
	if id := s.talk.Session().ID; id != "" && s.said() {
		s.printNote("take this up again with: " + s.resume + " " + id)
	}
}
