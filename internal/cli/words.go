package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// words shows a turn of `chat -p` on a terminal as it happens: the text of the model as it comes,
// and everything else as remarks. A turn calls its observer with one event at a time, so no lock is
// needed.
type words struct {
	out     io.Writer  // the terminal for replies; nil: they are printed when the turn has ended
	remarks io.Writer  // the terminal for remarks; nil: there is none
	wait    waitLine   // what the command waits for, on the terminal for remarks
	calls   hook.Calls // to plugins, in progress

	line strings.Builder // the part of the current reply that is on the screen
	last string          // the last complete reply that was shown

	tools int // the number of running tools
}

// see shows an event. It is the observer of a turn.
func (w *words) see(e chat.Event) {
	switch e.Type {
	case chat.TurnStarted:
		w.wait.begin("thinking")
	case chat.TextDelta:
		w.add(e.Text)
	case chat.TextHeld:
		w.wait.update("answering: " + render.Count(e.Held, "character") + ", shown once plugins have seen them")
	case chat.ModelReplied:
		w.reply(e.Text)
		w.wait.begin("finishing")
	case chat.ToolStarted:
		w.remark("%s %s", render.Line(e.Tool.Name), render.Line(firstPart(string(e.Tool.Arguments))))
		w.tools++
		w.wait.begin("running " + e.Tool.Name)
	case chat.ToolFinished:
		if w.tools = max(w.tools-1, 0); w.tools == 0 {
			w.wait.begin("thinking")
		}
	case chat.Retrying:
		w.endLine()
		w.remark("trying again: %s", render.Line(e.Text))
		w.wait.begin("thinking")
	}
}

func (w *words) add(text string) {
	if w.out == nil {
		w.wait.update("answering")
		return
	}
	w.wait.end()
	w.line.WriteString(text)
	_, _ = io.WriteString(w.out, render.Block(text)) // a.out keeps the error
}

// reply shows a complete reply, unless it is on the screen already.
func (w *words) reply(text string) {
	if w.out == nil || text == "" && w.line.Len() == 0 {
		return
	}
	if w.line.String() != text {
		w.endLine()
		w.add(text)
	}
	w.endLine()
	w.last = text
}

// finish shows the final text of a turn, unless it is on the screen already.
func (w *words) finish(text string) {
	w.wait.end()
	if w.line.Len() > 0 || text != w.last {
		w.reply(text)
	}
}

// endLine ends the line of a reply.
func (w *words) endLine() {
	if w.line.Len() > 0 {
		_, _ = io.WriteString(w.out, "\n")
	}
	w.line.Reset()
}

func (w *words) remark(format string, args ...any) {
	if w.remarks != nil {
		w.wait.end()
		w.endLine()
		fmt.Fprintf(w.remarks, format+"\n", args...)
	}
}
