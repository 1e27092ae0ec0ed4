package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// someSessions returns sessions of two directories. The newest of the other directory is newer than
// all of this one.
func someSessions(s *scripted) {
	now := time.Now()
	s.others = []SessionRow{
		{ID: "ses_01far", Title: "far away \x1b[31mred\u202e", Dir: "~/elsewhere/with/a/long/path/that/does/not/fit/into/any/column", Turns: 12, Used: now},
		{ID: "ses_01old", Title: "old one", Dir: "~", Here: true, Turns: 1, Used: now.Add(-49 * time.Hour)},
		{ID: "ses_01near", Title: "near by", Dir: "~", Here: true, Turns: 3, Used: now.Add(-time.Hour)},
		{ID: "ses_01gone", Title: "", Dir: "/gone", Turns: 2, Used: now.Add(-26 * time.Hour)},
	}
}

func withSessions(t *testing.T, test func(d *driver)) {
	t.Helper()
	driveWith(t, driverOptions{change: someSessions}, test)
}

func TestSessions(t *testing.T) {
	t.Run("sessions of this directory come first, sorted by last use", func(t *testing.T) {
		withSessions(t, func(d *driver) {
			d.enter("/sessions")
			d.wantLive("Go on with which session?", "4 sessions", "1 h ago", "2 days ago", "just now", "yesterday", `far away \x1b[31mred\u202e`)
			order := []string{"near by", "old one", "in other directories", "far away", "(no messages)"}
			for i, live := 1, d.live(); i < len(order); i++ {
				if strings.Index(live, order[i-1]) > strings.Index(live, order[i]) {
					t.Errorf("%s comes after %s:\n%s", order[i-1], order[i], live)
				}
			}
		})
	})
	t.Run("the chosen session is resumed", func(t *testing.T) {
		withSessions(t, func(d *driver) {
			d.enter("/sessions")
			d.keys("down", "enter")
			d.wantPrinted("said in ses_01old")
			d.wantLive("Ask anything", "context ~2.0k, 1% of 200k") // with prompt and tools
			d.enter("/session")
			d.wantPrinted("session  ses_01old")
		})
	})
	t.Run("typed text filters the list", func(t *testing.T) {
		withSessions(t, func(d *driver) {
			d.enter("/sessions")
			d.write("FAR red")
			d.wantLive("1 of 4", "far away")
			d.write("x")
			d.wantLive("0 of 4", "no session has that")
			d.keys("enter", "backspace", "enter") // the first has nothing to choose
			d.wantPrinted("said in ses_01far")
		})
	})
	t.Run("a word is found in titles and directories, and at the beginning of ids", func(t *testing.T) {
		p := newPicker([]SessionRow{{ID: "ses_01m7a", Title: "number 7"}, {ID: "ses_02m7b", Title: "number 8"}}, false)
		for filter, want := range map[string]int{"7": 1, "NUMBER": 2, "02m": 1, "ses_01m7a": 1, "m7": 0} {
			p.narrow(filter)
			if got := len(p.found()); got != want {
				t.Errorf("%q: %d sessions, want %d", filter, got, want)
			}
		}
	})
	t.Run("esc and ctrl+c leave the list, and nothing changes", func(t *testing.T) {
		withSessions(t, func(d *driver) {
			for _, key := range []string{"esc", "ctrl+c"} {
				d.enter("/resume")
				d.wantLive("Go on with which session?")
				d.keys(key)
				d.wantLive("Ask anything", "ses_01test")
			}
		})
	})
	t.Run("a session that is gone is an error, and this one goes on", func(t *testing.T) {
		withSessions(t, func(d *driver) {
			d.enter("/sessions")
			d.keys("end", "enter")
			d.wantPrinted("the session stays as it is: session not found")
			d.wantLive("ses_01test")
		})
	})
	t.Run("without other sessions there is no list", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("/sessions")
			d.wantPrinted("there is no other session yet")
			d.wantLive("Ask anything")
		})
	})
	t.Run("/new begins another session", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("hello")
			d.wantLive("context")
			d.enter("/new")
			d.wantPrinted("a new session")
			d.wantLive("Ask anything", "ses_01new")
			if strings.Contains(d.live(), "context") {
				t.Errorf("a new session has a context:\n%s", d.live())
			}
		})
	})
	t.Run("one empty line is above the list", func(t *testing.T) {
		withSessions(t, func(d *driver) {
			d.enter("/sessions")
			if live := d.live(); !strings.HasPrefix(live, "\nGo on with") {
				t.Errorf("%q", live)
			}
		})
	})
	t.Run("leaving says how to resume it, if something was said", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("hello")
			d.enter("/quit")
			d.wantPrinted("go on with it: patchbay chat --resume ses_01test")
		})
	})
	t.Run("/sessions and /new wait for the turn", func(t *testing.T) {
		withSessions(t, func(d *driver) {
			d.enter("hang")
			d.enter("/sessions")
			d.enter("/new")
			d.wantPrinted("/sessions has to wait", "/new has to wait")
		})
	})
}

// TestPickerFits: on any screen, no line is too wide and the chosen session is visible.
func TestPickerFits(t *testing.T) {
	var rows []SessionRow
	for i := range 1000 {
		rows = append(rows, SessionRow{ID: fmt.Sprintf("ses_%04d", i), Title: strings.Repeat("日本語 ", 30), Dir: strings.Repeat("/x", 100), Turns: i, Here: i%2 == 0})
	}
	for _, size := range [][2]int{{80, 24}, {200, 50}, {20, 6}, {10, 3}} {
		l := look{width: size[0], height: size[1]}
		p := newPicker(rows, false)
		p.chosen = 700
		lines := p.lines(l, l.wholeScreen())
		if len(lines) > l.height {
			t.Errorf("%v: %d lines", size, len(lines))
		}
		for _, line := range lines {
			if w := ansi.StringWidth(line); w > l.width && size[0] >= 80 {
				t.Errorf("%v: a line of %d columns: %q", size, w, line)
			}
		}
		if size[1] > 10 && !strings.Contains(strings.Join(lines, "\n"), markUser+"日") {
			t.Errorf("%v: the chosen one is not seen:\n%s", size, strings.Join(lines, "\n"))
		}
	}
}

// TestThePickerSaysWhatItLeavesOut: if there are older sessions than those in the list, it says so.
func TestThePickerSaysWhatItLeavesOut(t *testing.T) {
	rows := []SessionRow{{ID: "ses_a", Title: "hen"}, {ID: "ses_b", Title: "fox"}}
	for _, tt := range []struct {
		more         bool
		filter, want string
	}{{false, "", "  2 sessions"}, {true, "", "  the newest 2 sessions"}, {false, "fox", "  1 of 2"}, {true, "fox", "  1 of the newest 2"}} {
		p := newPicker(rows, tt.more)
		p.narrow(tt.filter)
		if head := p.lines(look{width: 80, height: 24}, look{width: 80, height: 24}.wholeScreen())[0]; !strings.HasSuffix(head, tt.want) {
			t.Errorf("%q, want %q", head, tt.want)
		}
	}
}
