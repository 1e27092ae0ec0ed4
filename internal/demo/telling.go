package demo

import (
	"fmt"
	"strings"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// A telling shows a turn as it happens: the messages, and between them a scene for each point at
// which plugins act.
type telling struct {
	*show
	talk bool  // the last thing shown was a message
	err  error // the first error of a drawing, because an observer cannot return one
}

// observe shows an event of the turn. It is called with one event at a time.
func (t *telling) observe(e chat.Event) {
	switch e.Type {
	case chat.TurnStarted:
		t.line("you", e.Text)
	case chat.Point:
		t.scene(e.Outcome.Outcome)
	case chat.ModelReplied:
		t.line("model", e.Text)
	case chat.ToolStarted:
		t.line("tool", fmt.Sprintf("%s %s", e.Tool.Name, e.Tool.Arguments))
	case chat.ToolFinished:
		t.line("result", e.Tool.Result)
	}
}

// line shows one message of the conversation. Messages are grouped, apart from the scenes.
func (t *telling) line(who, text string) {
	if !t.talk {
		t.say("\n")
	}
	t.talk = true
	who = render.Options{Color: t.Color}.Paint(render.StyleCyan, fmt.Sprintf("%-6s ›", who))
	t.say("%s %s\n", who, strings.ReplaceAll(render.Block(text), "\n", "\n         "))
}

func (t *telling) scene(out *hook.Outcome) {
	caption := turnCaption(out)
	if caption == "" || t.err != nil {
		return
	}
	t.talk = false
	t.err = t.draw(caption, out)
}

// turnCaption describes what happens to a turn at a point, or returns "" if there is nothing to
// show.
func turnCaption(out *hook.Outcome) string {
	switch out.Point {
	case hook.SessionStart:
		return "A session starts: the notebook remembers where you left off"
	case hook.TurnInput:
		return "You ask something: typing is tidied up"
	case hook.PromptContext:
		return "The prompt is built: a plugin adds context the model could not know"
	case hook.ToolBefore:
		if out.Verdict == hook.Stop {
			return "The model wants to delete your files: the guard answers instead of the tool"
		}
		return "The model calls a tool: the guard looks at it first"
	case hook.ToolAfter:
		return "The tool has answered: a plugin looks at the answer too"
	case hook.ModelReply:
		if !changed(out) {
			return "" // a harmless text before a tool call
		}
		return "The model answers: text that looks like a secret does not reach the screen"
	case hook.TurnFinal:
		return "The answer is signed, by a plugin that has watched the whole turn"
	}
	return ""
}

func changed(out *hook.Outcome) bool {
	for i := range out.Steps {
		if out.Steps[i].Changed {
			return true
		}
	}
	return false
}
