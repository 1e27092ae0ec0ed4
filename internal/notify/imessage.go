package notify

import (
	"context"
	"errors"
	"fmt"
)

// imessageLimit bounds a message: it is a text message, not a log.
const imessageLimit = 2000 // characters

// imessageScript is the whole script. It never changes: recipient and text are passed as arguments,
// so that no text can become part of the script. osascript reads the script from stdin if its name
// is "-".
const imessageScript = `on run argv
	tell application "Messages"
		set theAccount to 1st account whose service type = iMessage
		send (item 2 of argv) to participant (item 1 of argv) of theAccount
	end tell
end run
`

// imessage sends through the Messages application, whose only interface is AppleScript.
type imessage struct {
	programs
	to text
}

// newIMessage sends to a telephone number or mail address. Reach runs an empty script, because a
// call of Messages itself would open its window or ask for permission.
func newIMessage(s *settings) maker {
	n := &imessage{to: s.required("to", s.text("to"))}
	return func(o Options) (Notifier, error) {
		if o.System != "darwin" {
			return nil, fmt.Errorf("only on macOS, and this is %s: %w", o.System, errors.ErrUnsupported)
		}
		var err error
		n.programs, err = newPrograms(s, o)
		return n, err
	}
}

func (n *imessage) Send(ctx context.Context, m Message) error {
	if err := n.run(ctx, osascript(imessageScript, n.to.value, imessageText(m))); err != nil {
		return fmt.Errorf("notifier %s: %w", IMessage, err)
	}
	return nil
}

func (n *imessage) Describe(m Message) Preview {
	return Preview{Driver: IMessage, Method: "osascript", Address: n.to.shown, Body: imessageText(m)}
}

func (n *imessage) Reach(ctx context.Context) error {
	if err := n.run(ctx, osascript("return\n")); err != nil {
		return fmt.Errorf("notifier %s: %w", IMessage, err)
	}
	return nil
}

func imessageText(m Message) string {
	headline := cut(m.Headline(), titleLimit, characters)
	if rest := m.paragraphs(imessageLimit-characters(headline+"\n"), characters); rest != "" {
		return headline + "\n" + rest
	}
	return headline
}

// osascript runs a script that it reads from stdin. Arguments after "-" are never taken for
// options.
func osascript(script string, args ...string) program {
	return program{name: "osascript", args: append([]string{"-"}, args...), stdin: script}
}
