package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// words shows a turn of `chat -p` on a terminal as it happens: what the model says as it says it,
// what else goes on as remarks. A turn tells one observer one event at a time, so that nothing here
// is guarded.
type words struct {
	out     io.Writer // the terminal for replies; nil: they are printed when the turn is over
	remarks io.Writer // the one for the rest; nil: nobody reads it
	wait    waitLine  // what is waited for, on the same terminal as the remarks

	line strings.Builder // the reply under way, as far as it is on the screen
	last string          // the last whole reply that was shown

	tools int // that run
}

// see is a turn's observer.
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
	_, _ = io.WriteString(w.out, render.Block(text)) // the output keeps the error
}

// reply shows a whole reply, unless it is on the screen already.
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

// finish shows the text that a turn came to, unless it is on the screen already.
func (w *words) finish(text string) {
	w.wait.end()
	if w.line.Len() > 0 || text != w.last {
		w.reply(text)
	}
}

// endLine ends the line on which a reply is.
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
