package tui

import (
	"context"
	"io"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/patchbay-dev/patchbay/internal/render"
)

// A Console is a program with lines and keys: it prints events into the terminal's scrollback,
// shows a status line at the bottom, and runs a function for a key. It knows nothing about what it
// shows.
type Console struct {
	In      io.Reader
	Out     io.Writer
	NoColor bool

	Status func() string // the line at the bottom; it is called often
	Busy   func() string // what is running; "": nothing
	Keys   []ConsoleKey

	mu    sync.Mutex // protects the fields below
	queue []Draw     // not printed yet
	news  chan struct{}
}

// A Draw draws lines for a screen.
type Draw func(render.Options) []string

// A ConsoleKey is a key and what it does: Exec, and then Do if Exec had no error; or Leave.
type ConsoleKey struct {
	Key     string                                      // in Bubble Tea's words
	Label   string                                      // shown beside the key at the bottom; "": the key is not shown
	Choices func() []string                             // the user chooses one of them first; nil: no choice
	Do      func(ctx context.Context, choice int)       // runs in the background, and must end soon after ctx
	Exec    func(ctx context.Context, choice int) error // uses the terminal meanwhile
	Leave   bool                                        // ends the program
}

// mostQueued limits how many Draws wait to be printed: a plugin can write faster than a terminal
// shows.
const mostQueued = 2000

// Print prints lines above the bottom, in the order of the calls. It returns at once. If the
// terminal is too slow, lines are dropped, and a line says so.
func (c *Console) Print(d Draw) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case len(c.queue) < mostQueued:
		c.queue = append(c.queue, d)
	case len(c.queue) == mostQueued:
		c.queue = append(c.queue, func(o render.Options) []string {
			return []string{o.Paint(render.StyleYellow, "… this is more than the terminal can show; the log has the rest")}
		})
	}
	select {
	case c.signal() <- struct{}{}:
	default: // it was signalled already
	}
}

// signal returns the channel that signals lines to print. The caller holds mu.
func (c *Console) signal() chan struct{} {
	if c.news == nil {
		c.news = make(chan struct{}, 1)
	}
	return c.news
}

// Rest returns what was not printed, after Run has returned.
func (c *Console) Rest() []Draw {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.queue
	c.queue = nil
	return all
}

// Run shows the console until the user leaves or ctx ends, which is not an error. When it returns,
// no function of a key is running.
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

// A consoleScreen is the program's state. Only Bubble Tea's loop uses it, except for doing.
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
	chosen  map[string]int // the last choice, by key
	leaving bool
	since   time.Time // when the running function began

	doing sync.WaitGroup // the functions of keys in the background
}

// A consoleMenu is an open choice.
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
		then tea.Cmd // run next if there was no error
	}
)

func newConsoleScreen(ctx context.Context, c *Console) *consoleScreen {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &consoleScreen{ctx: ctx, console: c, news: c.signal(), chosen: make(map[string]int),
		look: look{color: !c.NoColor, width: assumedWidth, height: assumedHeight}, canvas: newTermCanvas(c.Out)}
}

// Init implements [tea.Model].
func (s *consoleScreen) Init() tea.Cmd { return s.nextNews }

func (s *consoleScreen) nextNews() tea.Msg {
	select {
	case <-s.news:
		return newsMsg{}
	case <-s.ctx.Done():
		return nil
	}
}

// Update implements [tea.Model]. After each message it prints the queue.
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
	case restedMsg: // everything is drawn after each message
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

// fetch draws the queue at the current width. It wraps lines that are too long.
func (s *consoleScreen) fetch() {
	for _, draw := range s.console.Rest() {
		for _, line := range draw(s.look.options()) {
			s.printer.add(blockTool, wrap(line, s.look.cols()))
		}
	}
}

// tick animates the line of the running function.
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
