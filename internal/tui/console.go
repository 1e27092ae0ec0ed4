package tui

import (
	"context"
	"io"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/patchbay-dev/patchbay/internal/render"
)

// A Console is a program of lines and keys: what happens is printed into the terminal's scrollback,
// a line at the bottom says how things are, and single keys do things. It knows nothing of what it
// shows.
type Console struct {
	In      io.Reader
	Out     io.Writer
	NoColor bool

	Status func() string // the line at the bottom; it is asked often
	Busy   func() string // what is under way; "": nothing
	Keys   []ConsoleKey

	mu    sync.Mutex // protects the fields below
	queue []Draw     // what is not printed yet
	news  chan struct{}
}

// A Draw draws lines for a screen.
type Draw func(render.Options) []string

// A ConsoleKey is a key and what it does: Exec, and where that had no error Do; or Leave.
type ConsoleKey struct {
	Key     string                                      // as Bubble Tea calls it
	Label   string                                      // beside it, at the bottom; "": it is not shown there
	Choices func() []string                             // what is chosen among first; nil: nothing
	Do      func(ctx context.Context, choice int)       // runs beside the program, and ends soon after ctx has
	Exec    func(ctx context.Context, choice int) error // has the terminal for itself meanwhile
	Leave   bool                                        // ends the program
}

// mostQueued bounds what waits to be printed: a plugin can write faster than a terminal shows it.
const mostQueued = 2000

// Print prints lines above the bottom, in the order of the calls. It returns at once. Where more is
// printed than the terminal takes, the surplus is left out, and said to be.
func (c *Console) Print(d Draw) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case len(c.queue) < mostQueued:
		c.queue = append(c.queue, d)
	case len(c.queue) == mostQueued:
		c.queue = append(c.queue, func(o render.Options) []string {
			return []string{o.Paint(render.StyleYellow, "… this is more than the terminal takes; the log has the rest")}
		})
	}
	select {
	case c.told() <- struct{}{}:
	default: // it is told already
	}
}

// told is the channel that says that there is something to print. Its caller holds mu.
func (c *Console) told() chan struct{} {
	if c.news == nil {
		c.news = make(chan struct{}, 1)
	}
	return c.news
}

// Rest takes what was not printed, once Run has returned.
func (c *Console) Rest() []Draw {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.queue
	c.queue = nil
	return all
}

// Run shows the console until somebody leaves or ctx ends, which is no error. No key's doing is
// under way when it returns.
func (c *Console) Run(ctx context.Context) error {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	s := newConsoleScreen(inner, c)
	p := tea.NewProgram(s, programOptions(Options{In: c.In, Out: c.Out, NoColor: c.NoColor}, s.canvas)...)
	defer s.canvas.release()
	stop := context.AfterFunc(ctx, func() { p.Send(leaveMsg{}) })
	defer stop()
	_, err := p.Run()
	cancel()
	s.doing.Wait()
	return programError(err)
}

// A consoleScreen is the program's state. Only Bubble Tea's loop touches it, but for doing.
type consoleScreen struct {
	ctx     context.Context
	console *Console
	news    <-chan struct{}
	look    look
	ready   bool
	ticking bool
	printer printer
	canvas  canvas
	menu    *consoleMenu
	chosen  map[string]int // what was last chosen, by key
	leaving bool
	since   time.Time // when what is under way began

	doing sync.WaitGroup // what keys do, beside the loop
}

// A consoleMenu is a choice that is open.
type consoleMenu struct {
	key    ConsoleKey
	labels []string
	at     int
}

type (
	newsMsg struct{}
	doMsg   struct {
		key    ConsoleKey
		choice int
	}
	doneMsg struct {
		err  error
		then tea.Cmd // what follows where there was no error
	}
)

func newConsoleScreen(ctx context.Context, c *Console) *consoleScreen {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &consoleScreen{ctx: ctx, console: c, news: c.told(), chosen: make(map[string]int),
		look: look{color: !c.NoColor, width: assumedWidth, height: assumedHeight}, canvas: newTermCanvas(c.Out)}
}

// Init is a [tea.Model]'s.
func (s *consoleScreen) Init() tea.Cmd { return s.nextNews }

func (s *consoleScreen) nextNews() tea.Msg {
	select {
	case <-s.news:
		return newsMsg{}
	case <-s.ctx.Done():
		return nil
	}
}

// Update is a [tea.Model]'s. Whatever a message did, what is queued is printed.
func (s *consoleScreen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := s.receive(msg)
	if s.ready {
		s.fetch()
		live, cursor := s.frame()
		s.canvas.draw(s.printer.take(s.look), live, cursor)
		cmd = tea.Batch(cmd, s.tick())
	}
	if s.leaving {
		cmd = tea.Batch(cmd, tea.Quit)
	}
	return s, cmd
}

func (s *consoleScreen) receive(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		if msg.Width > 0 && msg.Height > 0 {
			s.look.width, s.look.height = msg.Width, msg.Height
		}
		s.ready = true
		return s.canvas.resize(s.look.width, s.look.height)
	case restedMsg: // everything is drawn after a message
	case tea.KeyPressMsg:
		return s.key(msg.String())
	case tea.ColorProfileMsg:
		s.canvas.profile(msg.Profile)
	case newsMsg:
		return s.nextNews
	case doneMsg:
		if msg.err != nil {
			text := msg.err.Error()
			s.console.Print(func(o render.Options) []string {
				return []string{o.Paint(render.StyleRed, "error: ") + render.Block(text)}
			})
			return nil
		}
		return msg.then
	case doMsg:
		return s.do(msg.key, msg.choice)
	case tickMsg:
		s.ticking = false
	case leaveMsg:
		s.leaving = true
	}
	return nil
}

// fetch draws what is queued, at the width there is now. Lines that are too long are wrapped:
// nothing of them is lost.
func (s *consoleScreen) fetch() {
	for _, draw := range s.console.Rest() {
		for _, line := range draw(s.look.options()) {
			s.printer.add(blockTool, wrap(line, s.look.cols()))
		}
	}
}

// tick moves the line of what is under way.
func (s *consoleScreen) tick() tea.Cmd {
	switch busy := s.console.Busy(); {
	case busy == "":
		s.since = time.Time{}
		return nil
	case s.since.IsZero():
		s.since = time.Now()
	}
	if s.ticking {
		return nil
	}
	s.ticking = true
	return tea.Tick(tickEvery, func(time.Time) tea.Msg { return tickMsg{} })
}
