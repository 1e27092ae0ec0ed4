package tui

import (
	"fmt"
	"strings"
	"testing"
)

// The rules of this file are about what stays in the terminal's scrollback, so they are looked at there.

// once holds the scrollback and the screen together against lines that must be there exactly once.
func (term *terminal) once(texts ...string) {
	term.t.Helper()
	all := term.all()
	for _, text := range texts {
		if n := strings.Count(all, text); n != 1 {
			term.t.Errorf("%q is there %d times:\n%s", text, n, all)
		}
	}
}

// cursor is the row that the cursor is in.
func (term *terminal) cursor() string {
	return strings.TrimSpace(term.tmux("display-message", "-p", "#{cursor_y}"))
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
	if all := term.all(); strings.Contains(all, "Name of the plugin") || strings.Contains(all, "What should it do?") {
		t.Errorf("the form was left behind:\n%s", all)
	}
	term.once("Ask anything")
}

func TestALongAnswerScrolls(t *testing.T) {
	term := openTerminal(t, 80, 24)
	term.prompt()
	term.keys("essay", "Enter")
	term.sees("essay line 060")
	if all := term.all(); !strings.Contains(all, "essay line 000") {
		t.Errorf("what was said first is not in the scrollback while the rest comes:\n%s", all)
	}
	term.openGate()
	term.sees("the essay ends", "Ask anything")
	term.until("the end", func(s string) bool { return !strings.Contains(s, "esc interrupts") })
	for i := range 120 {
		term.once(fmt.Sprintf("essay line %03d", i))
	}
	term.once("the essay ends", "Ask anything")
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
			term.once("you said: hello", "Ask anything") // the scrollback has it still
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
	row := term.cursor()
	term.keys("hello", "Enter")
	term.sees("you said: hello", "tokens in")
	term.prompt()
	if now := term.cursor(); now != row {
		t.Errorf("after a turn the cursor is in row %s, it was in %s:\n%s", now, row, term.screen())
	}
}

func TestAResizedTerminal(t *testing.T) {
	term := openTerminal(t, 100, 30)
	term.prompt()
	term.keys("hello", "Enter")
	term.sees("you said: hello")
	for _, width := range []int{60, 40, 100} {
		term.tmux("resize-window", "-x", fmt.Sprint(width), "-y", "30")
		rule := strings.Repeat("─", width-1) // around the input
		term.until("an input as wide as the screen", func(s string) bool { return strings.Count(s, "\n"+rule+"\n") == 2 })
	}
	term.once("Ask anything", "you said: hello")
}
