package tui

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/internal/model"
)

// An asked is a question and its answer.
type asked struct {
	answer chat.Approval
	err    error
	done   bool
}

// ask asks a question as an agent does, on its own goroutine.
func (d *driver) ask(ctx context.Context, tool, args string) *asked {
	a := &asked{}
	go func() {
		a.answer, a.err = d.s.approver.Approve(ctx, chat.Tool{Name: tool, Changes: true},
			model.ToolCall{Name: tool, Arguments: json.RawMessage(args)})
		a.done = true
	}()
	d.awaitQuiet()
	return a
}

func TestQuestion(t *testing.T) {
	for key, want := range map[string]chat.Approval{
		"y": {Allowed: true}, "a": {Allowed: true}, "n": {Reason: Refusal}, "esc": {Reason: Refusal},
	} {
		t.Run(key+" answers it", func(t *testing.T) {
			drive(t, func(d *driver) {
				a := d.ask(d.t.Context(), "shell", `{"cmd":"rm -r build"}`)
				d.wantLive("Run this command?", "$ rm -r build", "y yes")
				d.keys(key)
				if !a.done || a.answer != want || a.err != nil {
					t.Errorf("got %+v", a)
				}
				d.wantLive("Ask anything")
			})
		})
	}
	t.Run("always means no more questions for this tool, and for no other", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.ask(d.t.Context(), "shell", `{"cmd":"a"}`)
			d.keys("a")
			if again := d.ask(d.t.Context(), "shell", `{"cmd":"b"}`); !again.answer.Allowed {
				t.Error("the user was asked about shell again")
			}
			if other := d.ask(d.t.Context(), "write_file", `{}`); other.done {
				t.Error("the user was not asked about write_file")
			}
		})
	})
	t.Run("always also answers the waiting questions of the tool", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.ask(d.t.Context(), "shell", `{"cmd":"a"}`)
			other, second := d.ask(d.t.Context(), "fetch", `{}`), d.ask(d.t.Context(), "shell", `{"cmd":"b"}`)
			d.wantLive("(1 of 3)")
			d.keys("a")
			if !second.answer.Allowed || other.done {
				t.Errorf("second %+v, other %+v", second, other)
			}
			d.wantLive("Run fetch?")
		})
	})
	t.Run("keys do not answer while the user is typing", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.write("try to sa")
			a := d.ask(d.t.Context(), "shell", `{"cmd":"a"}`)
			d.keys("y")
			d.wantLive("stop typing for a moment")
			if a.done || d.s.input.value() != "try to say" {
				t.Fatalf("answered %v, input %q", a.done, d.s.input.value())
			}
			d.advance(typingPause)
			d.keys("y")
			if !a.answer.Allowed || d.s.input.value() != "try to say" {
				t.Errorf("answered %+v, input %q", a, d.s.input.value())
			}
		})
	})
	t.Run("Esc refuses at once, and interrupts nothing", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("ask")
			d.s.typed = time.Now() // a key a moment ago
			d.keys("esc")
			d.wantPrinted("I may not.")
			d.wantNowhere("interrupted")
		})
	})
	t.Run("a paste does not answer", func(t *testing.T) {
		drive(t, func(d *driver) {
			a := d.ask(d.t.Context(), "shell", `{"cmd":"a"}`)
			d.send(tea.PasteMsg{Content: "y"})
			if a.done || d.s.input.value() != "y" {
				t.Errorf("answered %v, input %q", a.done, d.s.input.value())
			}
		})
	})
	t.Run("any other key answers nothing", func(t *testing.T) {
		drive(t, func(d *driver) {
			a := d.ask(d.t.Context(), "shell", `{"cmd":"a"}`)
			d.keys("enter", " ", "x", "tab")
			if a.done {
				t.Errorf("answered %+v", a)
			}
		})
	})
	t.Run("an interrupted turn removes its question", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("ask")
			d.wantLive("Make this change?")
			d.keys("ctrl+c")
			d.wantPrinted("interrupted")
			d.wantLive("Ask anything")
		})
	})
	t.Run("a call that ends by itself removes its question", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.enter("hang") // a tool asks only during a turn
			ctx, cancel := context.WithCancel(d.t.Context())
			a := d.ask(ctx, "shell", `{"cmd":"a"}`)
			cancel()
			d.advance(2 * tickEvery)
			if !errors.Is(a.err, context.Canceled) || len(d.s.questions) != 0 {
				t.Errorf("got %+v, %d questions", a, len(d.s.questions))
			}
		})
	})
	t.Run("no question is asked after the program has ended", func(t *testing.T) {
		drive(t, func(d *driver) {
			a := d.ask(d.t.Context(), "shell", `{"cmd":"a"}`)
			d.s.approver.close()
			d.awaitQuiet()
			if !errors.Is(a.err, errClosed) || a.answer.Allowed {
				t.Errorf("got %+v", a)
			}
			if late := d.ask(d.t.Context(), "shell", `{}`); !errors.Is(late.err, errClosed) {
				t.Errorf("got %+v", late)
			}
		})
	})
}

func TestQuestionBody(t *testing.T) {
	l := look{width: 60, height: 30}
	body := func(q *question) string { return strings.Join(l.questionBody(q), "\n") }
	builtin := func(name, args string) *question {
		return &question{tool: chat.Tool{Name: name}, call: model.ToolCall{Name: name, Arguments: json.RawMessage(args)}}
	}
	for name, c := range map[string]struct {
		q    *question
		want string
	}{
		"a file that is written is all new": {builtin("write_file", `{"path":"a.txt","content":"one\ntwo\n"}`),
			"  a.txt\n  + one\n  + two"},
		"the changed lines of an edit are shown": {builtin("edit_file", `{"path":"a","old":"0\n1\n2\n3\n4","new":"0\n1\nzwei\n3\n4"}`),
			"  a\n    1\n  - 2\n  + zwei\n    3"},
		"an insertion takes nothing away": {builtin("edit_file", `{"path":"a","old":"1\n3","new":"1\n2\n3"}`),
			"  a\n    1\n  + 2\n    3"},
		"a command of several lines is shown whole": {builtin("shell", `{"cmd":"cd x\nmake"}`), "  $ cd x\n    make"},
		"a long command is wrapped, not cut": {builtin("shell", `{"cmd":"`+strings.Repeat("word ", 20)+`; rm -rf x"}`),
			"  $ word word word word word word word word word word word\n    word word word word word word word word word ; rm -rf x"},
		"other tools show their arguments": {builtin("post", `{"to":["a"]}`), "  {\n    \"to\": [\n      \"a\"\n    ]\n  }"},
		"control characters are shown, not sent": {builtin("shell", `{"cmd":"echo \u001b[2J\u202e"}`),
			`  $ echo \x1b[2J\u202e`},
		"a plugin's tool is not drawn as the built-in one of the same name": {
			&question{tool: chat.Tool{Name: "shell", Plugin: "p"}, call: model.ToolCall{Arguments: json.RawMessage(`{"cmd":"x","then":"y"}`)}},
			"  {\n    \"cmd\": \"x\",\n    \"then\": \"y\"\n  }"},
		"arguments that are not an object are shown as they are": {builtin("shell", `[1,`), "    [1,"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := body(c.q); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
	t.Run("a question too long for the screen can be printed whole", func(t *testing.T) {
		drive(t, func(d *driver) {
			d.ask(d.t.Context(), "write_file", `{"path":"a","content":"`+strings.Repeat(`line\n`, 60)+`end"}`)
			d.wantLive("lines more", "f show all of it")
			d.keys("f")
			d.wantPrinted("+ end")
		})
	})
}
