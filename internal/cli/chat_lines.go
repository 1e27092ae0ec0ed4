package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/render"
	"github.com/patchbay-dev/patchbay/internal/tui"
)

// A lineChat is a conversation on a terminal that understands no escape sequences. It reads lines,
// and prints each turn as `chat -p` does.
type lineChat struct {
	*app
	talk *conversation

	asking sync.Mutex // held during a question, since parallel calls ask at the same time
}

// runLines runs the conversation until the user leaves.
func (a *app) runLines(ctx context.Context, c *conversation) error {
	l := &lineChat{app: a, talk: c}
	if c.asks != nil {
		c.approve, c.asks = l.approve, nil // printTurn then asks with c.approve
	}
	if err := c.open(ctx); err != nil {
		return err
	}
	l.hello()
	err := l.read(ctx)
	id := c.Session().ID
	if c.sent || len(c.history) > 0 {
		a.sayf("go on with it: %s %s\n", tui.DefaultResume, id)
	}
	return errors.Join(err, c.end(context.WithoutCancel(ctx)))
}

// hello prints where the conversation is, and how to leave it.
func (l *lineChat) hello() {
	l.sayf("patchbay chat in %s. Patchbay cannot draw on this terminal (TERM=dumb), so it reads one message on each line. /quit leaves.\n", l.place(l.talk.Session().WorkingDir))
	for _, line := range l.talk.banner() {
		l.sayf("%s\n", render.Block(line.Text))
	}
	if hint := modelHint(l.talk.core); hint != "" {
		l.sayf("%s\n", hint)
	}
	if n := len(l.talk.history); n > 0 {
		l.sayf("%s before: patchbay session show %s\n", render.Count(n, "message"), l.talk.Session().ID)
	}
}

// read sends each line as a message.
func (l *lineChat) read(ctx context.Context) error {
	for {
		l.printf("> ")
		line, err := interruptible(ctx, func() (string, error) { return readLine(l.In) })
		switch line = strings.TrimRight(line, "\r"); {
		case err != nil:
			l.printf("\n")
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		case strings.TrimSpace(line) == "":
			continue
		case line == "/quit" || line == "/exit" || line == "/q":
			return nil
		}
		if err := l.send(ctx, line); err != nil {
			return err
		}
	}
}

// send runs a turn. Its error is printed, and the conversation goes on, unless the command was
// interrupted.
func (l *lineChat) send(ctx context.Context, line string) error {
	prompt, expanded := l.expandPrompt(line)
	if !expanded {
		prompt = line
	}
	if !expanded && l.unavailable(line) {
		l.tellf("%s is not available on this terminal, and no message was sent. A space before it sends it to the model; /quit leaves.\n",
			render.Line(excerpt.Of(strings.Fields(line)[0], 80)))
		return nil
	}
	err := l.printTurn(ctx, l.talk, l.attached(l.talk, prompt, strings.TrimSpace(prompt)), false)
	if err == nil || ctx.Err() != nil {
		return err
	}
	k, _ := classify(ctx, err)
	l.reportText(k, err)
	return nil
}

// unavailable reports whether a line cannot be used here: it is a command for the shell, a command
// of the chat on other terminals, or a command that no plugin can take.
func (l *lineChat) unavailable(line string) bool {
	name, near := tui.CommandOf(line)
	return strings.HasPrefix(line, "!") || name != "" && (name == near || !l.talk.Intercepts())
}

// approve asks about a tool that changes things. It is a [chat.Approver]. It does not ask about
// commands that the user has approved for the project.
func (l *lineChat) approve(ctx context.Context, t chat.Tool, c model.ToolCall) (chat.Approval, error) {
	refused := refusals{remembered: l.talk.remembered}
	if answer, err := refused.refuse(ctx, t, c); err != nil || answer.Allowed {
		return answer, err
	}
	l.asking.Lock()
	defer l.asking.Unlock()
	l.tellf("\n%s\n%s\n", render.Line(t.Name), render.Block(string(c.Arguments)))
	answer, err := l.ask(ctx, "Run it? y: yes, n: no, or type what to do instead: ")
	switch {
	case err != nil:
		return chat.Approval{}, err
	case isYes(answer):
		return chat.Approval{Allowed: true}, nil
	case answer == "" || strings.EqualFold(answer, "n") || strings.EqualFold(answer, "no"):
		return chat.Approval{Reason: tui.Refusal}, nil
	}
	return chat.Approval{Reason: tui.Refusal + ", and says what to do instead: " + answer}, nil
}
