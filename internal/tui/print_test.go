package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

func TestPrinter(t *testing.T) {
	t.Run("prints in order", func(t *testing.T) {
		drive(t, func(d *driver) {
			var want []string
			for i := range 100 {
				want = append(want, fmt.Sprintf("line %d", i))
			}
			d.printed = nil
			d.s.printer.apart()
			d.s.printer.add(blockNote, slices.Clone(want))
			d.send(tickMsg{})
			if got := strings.Join(d.printed[1:], "\n"); got != strings.Join(want, "\n") {
				t.Errorf("got %s", got)
			}
		})
	})
	t.Run("blocks of different kinds have an empty line between them, tools in a row have none", func(t *testing.T) {
		var p printer
		p.add(blockUser, []string{"u"})
		p.add(blockTool, []string{"t1"})
		p.add(blockTool, []string{"t2"})
		p.add(blockReply, []string{"r"})
		if got := strings.Join(p.queue, "|"); got != "u||t1|t2||r" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("more of a reply continues it, and is apart from anything else", func(t *testing.T) {
		var p printer
		p.add(blockReply, []string{"r1"})
		p.add(blockMore, []string{"r2"})
		p.add(blockNote, []string{"n"})
		p.add(blockMore, []string{"r3"})
		p.add(blockNote, []string{"n"})
		p.add(blockMore, []string{"", "r4"})
		if got := strings.Join(p.queue, "|"); got != "r1|r2||n||r3||n||r4" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("a live reply is apart from a note within it", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("prose")
			d.advance(time.Second)
			d.enter("/session")
			d.advance(time.Second)
			if live := d.live(); !strings.HasPrefix(live, "\n  ") || strings.HasPrefix(live, "\n\n") {
				t.Errorf("live: %s", live)
			}
		})
	})
}

func TestResize(t *testing.T) {
	t.Run("the live part is drawn in the new size", func(t *testing.T) {
		drive(t, func(d *driver) { // the driver checks the width of every line
			d.write(strings.Repeat("long ", 30))
			for _, w := range []int{120, 40, 20, 80} {
				d.send(tea.WindowSizeMsg{Width: w, Height: 20})
			}
		})
	})
	t.Run("a terminal without a size gets a usual one", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.send(tea.WindowSizeMsg{})
			if d.s.look.width != 80 {
				t.Errorf("width %d", d.s.look.width)
			}
		})
	})
}

func TestClock(t *testing.T) {
	for d, want := range map[time.Duration]string{
		120 * time.Millisecond: "0.1s", 9 * time.Second: "9.0s", 42 * time.Second: "42s", 125 * time.Second: "2m05s",
	} {
		if got := clock(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
	for n, want := range map[int]string{950: "950", 1234: "1.2k", 34_567: "34k", 1_234_567: "1.2M"} {
		if got := thousands(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestIdle(t *testing.T) {
	t.Run("an idle program has no ticks", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("hello")
			d.advance(2 * leavePause)
			before := d.s.ticking
			d.post(nil)
			d.advance(time.Minute)
			if before || d.s.ticking || len(d.take()) != 0 {
				t.Error("a tick was sent, or is due")
			}
		})
	})
}

func TestWrap(t *testing.T) {
	for text, want := range map[string]string{
		"type --model a:claude-sonnet-4-5 now":    "type --model|a:claude-sonnet-4-5|now",
		"git log \x1b[1m--no-merges-at-all\x1b[m": "git log|\x1b[1m--no-merges-at-all\x1b[m",
		"a-name-that-is-longer-than-the-line":     "a-name-that-is-longer|-than-the-line",
		"\ue000 has-its own hyphens-here":         "\ue000 has-its own|hyphens-here",
	} {
		if got := strings.Join(wrap(text, 21), "|"); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
