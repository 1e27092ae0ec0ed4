package tui

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// The tests in this file are about the terminal's scrollback, so they look at a real one.

// once waits until each text occurs exactly once in the scrollback and the screen together.
func (term *terminal) once(texts ...string) {
	term.t.Helper()
	term.await(fmt.Sprintf("%q, once each", texts), term.all, onceIn(texts))
}

// onceIn reports whether each text occurs exactly once.
func onceIn(texts []string) func(all string) bool {
	return func(all string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return strings.Count(all, text) != 1 })
	}
}

// nowhere waits until no text occurs in the scrollback or on the screen.
func (term *terminal) nowhere(texts ...string) {
	term.t.Helper()
	term.await(fmt.Sprintf("none of %q", texts), term.all, func(all string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(all, text) })
	})
}

// numbered returns n texts that differ in their number.
func numbered(format string, n int) (texts []string) {
	for i := range n {
		texts = append(texts, fmt.Sprintf(format, i))
	}
	return texts
}

// cursorRow returns the row of the cursor, which waits in the input.
func (term *terminal) cursorRow() (row int) {
	term.t.Helper()
	term.until("the cursor in the input", func(string) bool {
		at, screen, _ := strings.Cut(term.tmux("display-message", "-p", "#{cursor_y}", ";", "capture-pane", "-p"), "\n")
		lines := strings.Split(screen, "\n")
		var err error
		row, err = strconv.Atoi(at)
		return err == nil && row < len(lines) && strings.Contains(lines[row], "Ask anything")
	})
	return row
}

// cursorStays waits until the cursor is in the row again.
func (term *terminal) cursorStays(row int) {
	term.t.Helper()
	term.until(fmt.Sprintf("the cursor in row %d of the input", row), func(string) bool { return term.cursorRow() == row })
}

func TestAFormIsDrawnOnce(t *testing.T) {
	term := openTerminal(t, 80, 24)
	term.prompt()
	for range 2 {
		term.keys("/help", "Enter")
		term.prompt()
	}
	term.keys("/plugin x", "Enter")
	term.sees("Name of the plugin")
	term.once("Name of the plugin", "/plugin x")
	term.keys("Enter")
	term.sees("What should it do?")
	term.once("What should it do?")
	term.keys("C-c")
	term.prompt()
	term.nowhere("Name of the plugin", "What should it do?")
	term.once("Ask anything")
}

func TestALongAnswerScrolls(t *testing.T) {
	term := openTerminal(t, 80, 24)
	term.prompt()
	term.keys("essay", "Enter")
	term.sees("essay line 060")
	term.await("the first lines in the scrollback while the rest comes", term.all, func(all string) bool {
		return strings.Contains(all, "essay line 000")
	})
	term.openGate()
	term.sees("the essay ends", "Ask anything")
	term.until("the end", func(s string) bool { return !strings.Contains(s, "esc interrupts") })
	term.once(append(numbered("essay line %03d", 120), "the essay ends", "Ask anything")...)
}

func TestTheScreenIsCleared(t *testing.T) {
	for _, how := range [][]string{{"/clear", "Enter"}, {"C-l"}} {
		t.Run(how[0], func(t *testing.T) {
			term := openTerminal(t, 80, 24)
			term.prompt()
			term.keys("/help", "Enter")
			term.prompt()
			term.keys("hello", "Enter")
			term.sees("you said: hello")
			term.prompt()
			term.keys(how...)
			term.until("an empty screen", func(s string) bool {
				return strings.Contains(s, "Ask anything") && !strings.Contains(s, "you said") && !strings.Contains(s, "/help  ")
			})
			term.once("you said: hello", "Ask anything") // the scrollback still has it
			term.keys("again", "Enter")
			term.sees("you said: again")
			term.once("you said: again")
		})
	}
}

func TestThePromptStays(t *testing.T) {
	term := openTerminal(t, 80, 24)
	term.prompt()
	for i := range 2 { // until the screen is full
		term.keys("/help", "Enter")
		term.until("the help", func(s string) bool {
			return strings.Contains(s, "Ask anything") && strings.Count(term.all(), "clear the screen, ") == i+1
		})
	}
	row := term.cursorRow()
	term.keys("hello", "Enter")
	term.sees("you said: hello", "tokens in")
	term.prompt()
	term.cursorStays(row)
}

func TestAResizedTerminal(t *testing.T) {
	term := openTerminal(t, 100, 30)
	term.prompt()
	term.keys("hello", "Enter")
	term.sees("you said: hello")
	for _, width := range []int{60, 40, 100} {
		term.resize(width, 30)
		rule := strings.Repeat("─", width-1) // around the input
		term.until("an input as wide as the screen", func(s string) bool { return strings.Count(s, "\n"+rule+"\n") == 2 })
	}
	term.once("Ask anything", "you said: hello")
}

// TestALineThatIsWiderThanMeasured: tmux draws an emoji with a skin colour in four columns, and it
// is measured as two.
func TestALineThatIsWiderThanMeasured(t *testing.T) {
	term := openTerminal(t, 80, 24)
	term.prompt()
	term.keys("/sessions", "Enter")
	term.sees("thumbs")
	term.once("Go on with which session?", "thumbs")
	term.keys("x") // filters
	term.sees("no session has that")
	term.once("Go on with which session?")
	term.keys("Escape")
	term.prompt()
	term.nowhere("Go on with", "thumbs")
}

// TestATerminalThatBecomesNarrower: finished lines are drawn over rows that held the rules around
// the input. Nothing of a rule may be left that the terminal could wrap into empty rows.
func TestATerminalThatBecomesNarrower(t *testing.T) {
	term := openTerminal(t, 200, 50)
	term.prompt()
	for _, text := range []string{"hello", "again", "once more"} {
		term.keys(text, "Enter")
		term.sees("you said: " + text)
		term.prompt()
	}
	term.resize(60, 50)
	rule := strings.Repeat("─", 59)
	term.until("an input as wide as the screen", func(s string) bool { return strings.Count(s, "\n"+rule+"\n") == 2 })
	term.once("Ask anything", "you said: hello", "you said: again", "you said: once more")
	term.await("no empty rows that were not drawn", term.all, func(all string) bool {
		return !strings.Contains(strings.TrimSpace(all), "\n\n\n")
	})
}

// TestAResizeWhileAnAnswerComes: a terminal that becomes much lower pushes its top into the
// scrollback. No live line may be there.
func TestAResizeWhileAnAnswerComes(t *testing.T) {
	term := openTerminal(t, 100, 45)
	term.prompt()
	term.keys("letter", "Enter")
	term.sees("letter line 006")
	for _, size := range [][2]int{{60, 12}, {100, 40}, {80, 16}} {
		term.resize(size[0], size[1])
		rule := strings.Repeat("─", size[0]-1)
		term.until("an input as wide as the screen", func(s string) bool { return strings.Count(s, "\n"+rule+"\n") == 2 })
	}
	term.openGate()
	term.sees("the letter ends", "Ask anything")
	term.until("the end", func(s string) bool { return !strings.Contains(s, "esc interrupts") })
	term.once(append(numbered("letter line %03d", 7), "the letter ends", "Ask anything")...)
}

// TestLongLinesInATerminalThatBecomesSmall: a terminal that becomes narrower and lower in one step
// wraps the long lines of the live part into more rows than it has, and pushes the first ones into
// the scrollback.
func TestLongLinesInATerminalThatBecomesSmall(t *testing.T) {
	for _, size := range [][2]int{{90, 12}, {80, 10}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) { longLinesBecomeSmall(t, size[0], size[1]) })
	}
}

func longLinesBecomeSmall(t *testing.T, width, height int) {
	term := openTerminal(t, 200, 50)
	term.prompt()
	term.keys("/help", "Enter") // fills the screen
	term.keys("prose", "Enter")
	term.sees("word-079")
	term.resize(width, height)
	rule := strings.Repeat("─", width-1)
	term.until("an input as wide as the screen", func(s string) bool { return strings.Count(s, "\n"+rule+"\n") == 2 })
	term.openGate()
	term.sees("ends", "Ask anything") // the words before it may be in the line above
	term.until("the end", func(s string) bool { return !strings.Contains(s, "esc interrupts") })
	term.await("every word, once each", term.joined, onceIn(numbered("word-%03d", 80)))
}

// TestATallLivePartInATerminalThatBecomesSmall: whatever is live, a terminal that becomes lower,
// narrower or both pushes none of it into the scrollback.
func TestATallLivePartInATerminalThatBecomesSmall(t *testing.T) {
	lower := [][2]int{{200, 12}, {200, 50}, {200, 6}, {200, 50}}
	small := append(lower, [][2]int{{80, 24}, {40, 24}, {100, 50}, {50, 16}, {200, 50}}...)
	table := func(term *terminal) {
		term.openGate()
		term.sees("cell 040", "tokens in")
		term.await("every row, once", term.joined, onceIn(numbered("cell %03d", 41)))
	}
	question := func(term *terminal) {
		term.keys("y")
		term.sees("It is written.")
		term.nowhere("Write this file?", "content 0")
	}
	for _, tt := range []struct {
		what  string
		fresh bool // the screen is not full
		sizes [][2]int
		keys  []string
		see   string
		end   func(*terminal)
	}{
		{"a question on a fresh screen", true, lower, []string{"overwrite", "Enter"}, "Write this file?", question},
		{"a question", false, small, []string{"overwrite", "Enter"}, "Write this file?", question},
		{"a table on a fresh screen", true, lower, []string{"table", "Enter"}, "cell 039", table},
		{"a table", false, small, []string{"table", "Enter"}, "cell 039", table},
		{"a table, while the user writes", false, small, []string{"table", "Enter", "one", "C-j", "two"}, "two", func(term *terminal) {
			term.keys("C-c")
			term.sees("interrupted after")
			term.keys("C-c") // clears the input
			term.await("every row, once", term.joined, onceIn(numbered("cell %03d", 40)))
		}},
		{"a list of sessions", false, small, []string{"/sessions", "Enter"}, "title 059", func(term *terminal) {
			term.keys("Escape")
			term.prompt()
			term.nowhere("Go on with which session?", "title 0")
		}},
	} {
		t.Run(tt.what, func(t *testing.T) {
			t.Parallel()
			term := openTerminal(t, 200, 50, othersEnv+"=60")
			for range 3 {
				term.prompt()
				if !tt.fresh {
					term.keys("/help", "Enter")
				}
			}
			term.keys(tt.keys...)
			term.sees(tt.see)
			for _, size := range tt.sizes {
				term.resize(size[0], size[1])
				term.settles()
			}
			tt.end(term)
			term.once("Ask anything")
		})
	}
}

// settles waits until the screen stays as it is for longer than nothing is drawn after a resize.
func (term *terminal) settles() {
	term.t.Helper()
	last, since := "", time.Now()
	term.until("a screen that stays", func(s string) bool {
		s = clockText.ReplaceAllString(s, "")
		if s != last {
			last, since = s, time.Now()
		}
		return time.Since(since) > 2*restTime
	})
}

// clockText matches what moves while something runs.
var clockText = regexp.MustCompile(`[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]|[0-9.]+s\b`)

// TestANewSizeIsSeenBeforeItIsReported: a terminal wraps its lines before its new size is reported.
// Nothing is drawn in between, and the finished lines are drawn later.
func TestANewSizeIsSeenBeforeItIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		c := newTermCanvas(&out)
		width, height := 80, 24
		c.size = func() (int, int, error) { return width, height, nil }
		c.resize(80, 24)
		drawn := func(finished string, want ...string) {
			t.Helper()
			out.Reset()
			c.draw([]string{finished}, []string{"live", "prompt"}, nil)
			if len(want) == 0 && out.Len() > 0 {
				t.Errorf("%s: %q was written", finished, out.String())
			}
			for _, text := range want {
				if strings.Count(out.String(), text) != 1 {
					t.Errorf("%s: %q was not written once: %q", finished, text, out.String())
				}
			}
		}
		drawn("first", "first", "live")
		width, height = 40, 12
		drawn("second")
		c.resize(40, 12)
		drawn("third")
		time.Sleep(restTime)
		drawn("fourth", "second", "third", "fourth", "live")
		width = 60 // and this is never reported
		drawn("fifth")
		time.Sleep(reportTime)
		drawn("sixth", "fifth", "sixth", "live")
		width = 40
		drawn("seventh", "seventh")
		width = 60
		drawn("eighth")
		out.Reset()
		if c.release(); strings.Count(out.String(), "eighth") != 1 {
			t.Errorf("at the end a line was lost: %q", out.String())
		}
		width, height = 0, 0 // it does not know its size
		drawn("ninth", "ninth", "live")
		drawn("tenth", "tenth", "live")
	})
}

func TestAResumedConversationIsSeenAtItsEnd(t *testing.T) {
	term := openTerminal(t, 80, 24, pastEnv+"=100")
	term.prompt()
	term.sees("answer 099", "resumed here, after 100 messages")
	term.once("answer 080", "answer 099", "Ask anything", "80 messages before")
	row := term.cursorRow()
	term.keys("hello", "Enter")
	term.sees("you said: hello", "tokens in")
	term.prompt()
	term.cursorStays(row)
}

func TestASuspendedTerminalIsGivenBack(t *testing.T) {
	var out bytes.Buffer
	c := newTermCanvas(&out)
	c.draw([]string{"finished"}, []string{"live", "prompt"}, tea.NewCursor(3, 1))
	if !strings.Contains(out.String(), ansi.SetModeBracketedPaste) {
		t.Errorf("pastes are not distinguished from typing: %q", out.String())
	}
	for _, msg := range []tea.Msg{tea.SuspendMsg{}, tea.Exec(&execution{}, nil)()} {
		out.Reset()
		releasing(c)(nil, msg)
		for _, want := range []string{ansi.CursorUp(1), ansi.EraseScreenBelow, ansi.ResetModeBracketedPaste, ansi.ShowCursor} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%T: %q was not written: %q", msg, want, out.String())
			}
		}
		out.Reset()
		c.draw(nil, []string{"live", "prompt"}, tea.NewCursor(3, 1))
		if !strings.Contains(out.String(), ansi.SetModeBracketedPaste) || !strings.Contains(out.String(), "live") {
			t.Errorf("%T: it was not taken again: %q", msg, out.String())
		}
	}
}
