package tui

import (
	"errors"
	"testing"
)

func TestSearchInHistory(t *testing.T) {
	typed := func(t *testing.T, test func(d *driver)) {
		t.Helper()
		drive(t, func(d *driver) {
			d.s.input.past.load([]string{"explain the parser", "git status please", "Explain go.mod", "tests, please", "git status please", "two\nlines"})
			d.write("draft")
			d.keys("ctrl+r")
			d.wantLive("history search: ▏", "ctrl+r older", "❯ draft")
			test(d)
		})
	}
	holds := func(d *driver, want string) {
		d.t.Helper()
		if got := d.s.input.value(); got != want {
			d.t.Errorf("the input is %q, want %q", got, want)
		}
	}
	t.Run("the newest match is shown, and Ctrl+R goes to older, different ones", func(t *testing.T) {
		typed(t, func(d *driver) {
			d.write("please")
			holds(d, "git status please")
			d.wantLive("history search: please▏", "❯ git status please")
			d.keys("ctrl+r")
			holds(d, "tests, please")
			d.keys("ctrl+r")
			holds(d, "git status please")
			d.keys("ctrl+r")
			holds(d, "git status please")
			d.wantLive("no other match")
			d.keys("ctrl+s")
			holds(d, "tests, please")
		})
	})
	t.Run("Enter takes it, and sends nothing", func(t *testing.T) {
		typed(t, func(d *driver) {
			d.write("pars")
			d.keys("enter")
			holds(d, "explain the parser")
			if d.s.input.find != nil || len(d.talk.sent) > 0 {
				t.Errorf("the search goes on, or sent %q", d.talk.sent)
			}
			d.keys("enter")
			d.wantPrinted("you said: explain the parser")
		})
	})
	for _, key := range []string{"esc", "ctrl+g", "ctrl+c"} {
		t.Run(key+" leaves, and the draft is back", func(t *testing.T) {
			typed(t, func(d *driver) {
				d.write("git")
				d.keys(key)
				holds(d, "draft")
				if d.quit || d.s.input.find != nil {
					t.Error("the program was left, or the search is still open")
				}
			})
		})
	}
	t.Run("a query without capitals ignores case, one with capitals does not", func(t *testing.T) {
		typed(t, func(d *driver) {
			d.write("explain g")
			holds(d, "Explain go.mod")
			d.keys("backspace", "backspace", "backspace", "backspace", "backspace", "backspace", "backspace", "backspace", "backspace")
			d.write("EXPLAIN")
			d.wantLive("no other match")
		})
	})
	t.Run("a query that becomes shorter begins at the newest again", func(t *testing.T) {
		typed(t, func(d *driver) {
			d.write("explain t")
			holds(d, "explain the parser")
			d.keys("backspace", "backspace")
			holds(d, "Explain go.mod")
		})
	})
	t.Run("another key takes the match and does its work", func(t *testing.T) {
		typed(t, func(d *driver) {
			d.write("lines")
			holds(d, "two\nlines")
			d.keys("left", "x")
			holds(d, "two\nlinexs")
		})
	})
	t.Run("a message that is long comes back whole", func(t *testing.T) {
		drive(t, func(d *driver) {
			long := ""
			for range foldLines + 5 {
				long += "a line\n"
			}
			d.s.input.past.load([]string{"first " + long})
			d.keys("ctrl+r")
			d.write("first")
			d.keys("enter")
			if got := d.s.input.text(); got != "first "+long {
				t.Errorf("got %q", got)
			}
		})
	})
}

func TestEditedMessage(t *testing.T) {
	drive(t, func(d *driver) {
		d.write("draft")
		d.keys("ctrl+g")
		d.wantPrinted("there is no editor here")
		d.send(editedMsg{text: "/one\ntwo\n\n"})
		if got := d.s.input.text(); got != "/one\ntwo" {
			t.Errorf("the input is %q", got)
		}
		d.send(editedMsg{err: errors.New("vi ended with exit code 1; nothing was changed")})
		d.wantPrinted("nothing was changed")
		if got := d.s.input.text(); got != "/one\ntwo" {
			t.Errorf("the input is %q", got)
		}
	})
}
