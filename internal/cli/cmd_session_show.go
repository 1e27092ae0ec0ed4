package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/daemon"
	"github.com/patchbay-dev/patchbay/internal/render"
	"github.com/patchbay-dev/patchbay/internal/session"
)

func newSessionShowCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show a conversation: messages, tool calls and their results",
		Long: `Show a conversation from its beginning: your messages (as plugins left them),
the answers of the model, its tool calls and their results. Messages that
compaction has removed from the model's context are shown too. ID is an id from
` + "`patchbay session list`" + `; its beginning is enough.

Other agents keep the messages of their sessions themselves, so only Patchbay's
own data of such a session is shown. ` + "`patchbay trace list --session ID`" + ` lists
what plugins did in a session.`,
		Example: `  patchbay session show 01m7ewsr29
  patchbay session show ses_01m7ewsr29qp62vnxax7qgqs14 | less
  patchbay session show 01m7ewsr29 --json | jq '.transcript[].message | select(.role == "user") | .content'`,
		Annotations:       exits(exit{exitOK, "the conversation was shown"}, exit{exitNotFound, "there is no such session"}),
		Args:              arguments("ID"),
		ValidArgsFunction: a.completeIDs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withConversation(cmd.Context(), args[0], func(c *storedConversation) error {
				if a.flags.json {
					return a.printJSON(c)
				}
				a.showConversation(c)
				return nil
			})
		},
	}
}

// A storedConversation has the form of `session show --json` and `session export --format json`.
type storedConversation struct {
	session.Summary
	Transcript []session.Entry `json:"transcript"`
}

// withConversation finds a session and reads all of it.
func (a *app) withConversation(ctx context.Context, id string, use func(*storedConversation) error) error {
	return a.withRecords(ctx, func(r *daemon.Records) error {
		one, err := findSession(ctx, r.Sessions, id)
		if err != nil {
			return err
		}
		c := &storedConversation{}
		if c.Summary, err = r.Sessions.Summarize(ctx, one); err != nil {
			return err
		}
		if c.Transcript, err = r.Sessions.Transcript(ctx, one.ID); err != nil { // the session may have been deleted since
			return sessionProblem(err, sessionListFix)
		}
		if c.Transcript == nil {
			c.Transcript = []session.Entry{}
		}
		return use(c)
	})
}

func (a *app) showConversation(c *storedConversation) {
	o := a.screen()
	a.sayf("%s\n", o.Paint(render.StyleBold, sessionTitle(c.Session)))
	for _, f := range c.facts() {
		a.printf("%s %s\n", o.Paint(render.StyleDim, f[0]+":"), a.place(f[1]))
	}
	for _, p := range c.passages() {
		a.printf("\n%s", a.passageText(p))
	}
	if note := c.elsewhere(); note != "" {
		a.sayf("\n%s\n", o.Paint(render.StyleDim, note))
	}
}

// passageText draws one passage: a heading, and its text below. On a terminal it breaks long lines
// at words.
func (a *app) passageText(p passage) string {
	o := a.screen()
	switch p.kind {
	case passageUser:
		return o.Paint(render.StyleCyan, "❯ ") + indentRest(a.safeText(p.text, 2), "  ") + "\n"
	case passageCall:
		return render.Wrap(o.Paint(render.StyleCyan, "● "+p.name)+" "+render.Line(p.text), o.Width, "  ") + "\n"
	case passageResult:
		mark := o.Paint(render.StyleGreen, "✓ "+p.name)
		if p.failed {
			mark = o.Paint(render.StyleRed, "✗ "+p.name)
		}
		return mark + "\n" + a.gutterText(p.text)
	case passageNote:
		return render.Wrap(o.Paint(render.StyleDim, "· "+p.text), o.Width, "  ") + "\n"
	case passageSystem:
		return o.Paint(render.StyleDim, "· for the model:") + "\n" + a.gutterText(p.text)
	}
	return a.safeText(p.text, 0) + "\n"
}

// safeText returns foreign text that is safe for a terminal, in lines with space for an indent.
func (a *app) safeText(text string, indent int) string {
	return render.Wrap(render.Block(trimEnd(text)), a.screen().Width-indent, "")
}

// gutterText returns foreign text with a bar before each line.
func (a *app) gutterText(text string) string {
	const bar, width = "  │ ", 4
	if text = trimEnd(text); text == "" {
		return ""
	}
	return bar + indentRest(a.safeText(text, width), bar) + "\n"
}
