package tui

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// A driver is Bubble Tea's loop without a terminal, in a synctest bubble. It runs commands, passes
// their messages to the screen, and keeps the printed lines. After every message it checks the
// frame.
type driver struct {
	t       *testing.T
	s       *screen
	talk    *scripted
	printed []string
	frame   []string // the live part, as last drawn
	cursor  *tea.Cursor
	cleared bool
	quit    bool
	cancel  context.CancelFunc

	mu   sync.Mutex // protects msgs
	msgs []tea.Msg
}

type driverOptions struct {
	width, height int
	options       Options
	change        func(*scripted)
}

// drive runs a test with a screen of 80 columns and 30 rows.
func drive(t *testing.T, test func(d *driver)) { t.Helper(); driveWith(t, driverOptions{}, test) }

func driveWith(t *testing.T, o driverOptions, test func(d *driver)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, o)
		test(d)
		d.close()
	})
}

func newDriver(t *testing.T, o driverOptions) *driver {
	if o.width == 0 {
		o.width, o.height = 80, 30
	}
	if o.options.Approver == nil {
		o.options.Approver = NewApprover()
	}
	ctx, cancel := context.WithCancel(t.Context())
	talk := newScripted()
	talk.approve = o.options.Approver.Approve
	talk.open = make(chan struct{})
	if o.change != nil {
		o.change(talk)
	}
	d := &driver{t: t, talk: talk, cancel: cancel, s: newScreen(ctx, talk, o.options)}
	d.s.canvas = d
	d.run(d.s.Init())
	d.send(tea.WindowSizeMsg{Width: o.width, Height: o.height})
	return d
}

func (d *driver) close() {
	d.cancel()
	d.s.approver.close()
	time.Sleep(2 * leavePause) // for the last ticks
	synctest.Wait()
	if err := d.s.calls.close(); err != nil {
		d.t.Error(err)
	}
}

func (d *driver) post(msg tea.Msg) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.msgs = append(d.msgs, msg)
}

func (d *driver) take() []tea.Msg {
	d.mu.Lock()
	defer d.mu.Unlock()
	msgs := d.msgs
	d.msgs = nil
	return msgs
}

func (d *driver) run(cmd tea.Cmd) {
	if cmd != nil {
		go func() { d.post(cmd()) }()
	}
}

// awaitQuiet continues until nothing more happens without time passing.
func (d *driver) awaitQuiet() {
	for {
		synctest.Wait()
		msgs := d.take()
		if len(msgs) == 0 {
			return
		}
		for _, msg := range msgs {
			d.receive(msg)
		}
	}
}

// receive handles a message as Bubble Tea does. It recognizes Bubble Tea's own sequences and prints
// by their shape, because their types are not exported.
func (d *driver) receive(msg tea.Msg) {
	switch msg := msg.(type) {
	case nil:
		return
	case tea.BatchMsg:
		for _, cmd := range msg {
			d.run(cmd)
		}
		return
	case tea.QuitMsg:
		d.quit = true
		return
	}
	if v := reflect.ValueOf(msg); v.Type().Name() == "sequenceMsg" {
		go func() {
			for i := range v.Len() {
				d.post(v.Index(i).Interface().(tea.Cmd)())
			}
		}()
		return
	}
	_, cmd := d.s.Update(msg)
	d.run(cmd)
}

// The driver is the screen's canvas. It checks what is drawn: not taller than its share, no line
// wider than the screen, no control sequences except colours.
func (d *driver) draw(finished, live []string, cursor *tea.Cursor) {
	for _, line := range finished {
		d.checkLine("printed", line)
	}
	d.printed = append(d.printed, finished...)
	if len(live) > d.s.look.liveRoom() {
		d.t.Errorf("the frame has %d lines, more than %d:\n%s", len(live), d.s.look.liveRoom(), strings.Join(live, "\n"))
	}
	for _, line := range live {
		d.checkLine("live", line)
	}
	if cursor != nil && cursor.Y >= len(live) {
		d.t.Errorf("the cursor is in row %d of %d", cursor.Y, len(live))
	}
	d.frame, d.cursor = live, cursor
}

func (d *driver) clear()                       { d.cleared = true }
func (d *driver) resize(int, int) tea.Cmd      { return nil }
func (d *driver) release()                     {}
func (d *driver) profile(colorprofile.Profile) {}

func (d *driver) checkLine(where, line string) {
	if w := ansi.StringWidth(line); w > d.s.look.width {
		d.t.Errorf("%s line is %d columns wide, the screen has %d: %q", where, w, d.s.look.width, line)
	}
	if c := control(line); c != "" {
		d.t.Errorf("%s line has %q in it: %q", where, c, line)
	}
}

// control returns the first control sequence or character in a line that is not a colour.
func control(line string) string {
	var state byte
	for len(line) > 0 {
		seq, _, n, next := ansi.DecodeSequence(line, state, nil)
		if r := []rune(seq); len(r) > 0 && (r[0] < 0x20 || r[0] >= 0x7f && r[0] < 0xa0) && !isStyle(seq) {
			return seq
		}
		line, state = line[n:], next
	}
	return ""
}

// isStyle reports whether a sequence is a "select graphic rendition" that hides nothing.
func isStyle(seq string) bool {
	params, ok := strings.CutPrefix(seq, "\x1b[")
	params, end := strings.CutSuffix(params, "m")
	if !ok || !end || strings.Trim(params, "0123456789;") != "" {
		return false
	}
	list := strings.Split(params, ";")
	if list[0] == "38" || list[0] == "48" {
		return true // a colour by its number, which may be any
	}
	const conceal = "8"
	return !slices.ContainsFunc(list, func(p string) bool { return strings.TrimLeft(p, "0") == conceal })
}

func (d *driver) send(msg tea.Msg) {
	d.post(msg)
	d.awaitQuiet()
}

// advance lets time pass, in steps short enough for every tick to be on time.
func (d *driver) advance(t time.Duration) {
	const step = 10 * time.Millisecond
	for ; t > 0; t -= step {
		time.Sleep(min(t, step))
		d.awaitQuiet()
	}
}

// keys presses keys by their names; a name of one character is that character.
func (d *driver) keys(names ...string) {
	for _, name := range names {
		d.send(keyPress(name))
	}
}

// enter types a line and sends it.
func (d *driver) enter(text string) {
	d.write(text)
	d.keys("enter")
}

func (d *driver) write(text string) {
	for _, r := range text {
		d.keys(string(r))
	}
}

func keyPress(name string) tea.KeyPressMsg {
	mods := map[string]tea.KeyMod{"ctrl+": tea.ModCtrl, "alt+": tea.ModAlt, "shift+": tea.ModShift}
	var k tea.Key
	for prefix, mod := range mods {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			name, k.Mod = rest, mod
		}
	}
	special := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "up": tea.KeyUp,
		"down": tea.KeyDown, "left": tea.KeyLeft, "backspace": tea.KeyBackspace, " ": tea.KeySpace}
	if code, ok := special[name]; ok {
		k.Code = code
		if name == " " {
			k.Text = name
		}
		return tea.KeyPressMsg(k)
	}
	k.Code = []rune(name)[0]
	if k.Mod == 0 {
		k.Text = name
	}
	return tea.KeyPressMsg(k)
}

// scrollback returns the printed lines without colours.
func (d *driver) scrollback() string { return ansi.Strip(strings.Join(d.printed, "\n")) }

// live returns the frame without colours.
func (d *driver) live() string { return ansi.Strip(strings.Join(d.frame, "\n")) }

func (d *driver) wantPrinted(texts ...string) {
	d.t.Helper()
	for _, text := range texts {
		if !strings.Contains(d.scrollback(), text) {
			d.t.Errorf("%q was not printed:\n%s", text, d.scrollback())
		}
	}
}

func (d *driver) wantLive(texts ...string) {
	d.t.Helper()
	for _, text := range texts {
		if !strings.Contains(d.live(), text) {
			d.t.Errorf("%q is not in the live part:\n%s", text, d.live())
		}
	}
}

func (d *driver) wantNowhere(texts ...string) {
	d.t.Helper()
	for _, text := range texts {
		if all := d.scrollback() + "\n" + d.live(); strings.Contains(all, text) {
			d.t.Errorf("%q is on the screen:\n%s", text, all)
		}
	}
}
