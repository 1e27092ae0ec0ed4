package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/render"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// A passage is a part of a conversation as it is shown.
type passage struct {
	kind   passageKind
	name   string // the name of a tool
	text   string // foreign
	failed bool   // a result that is an error
	at     time.Time
}

type passageKind int

const (
	passageReply passageKind = iota
	passageUser
	passageCall
	passageResult
	passageSystem
	passageNote // a remark of Patchbay
)

// facts returns the id, the origin and the size of the session.
func (c *storedConversation) facts() [][2]string {
	facts := [][2]string{{"session", c.ID}, {"began", c.CreatedAt.Local().Format(time.DateTime)}}
	if c.Host != "" {
		facts = append(facts, [2]string{"from", c.Host})
	}
	if c.HostSession != "" {
		facts = append(facts, [2]string{"its id there", c.HostSession})
	}
	return append(facts, [2]string{"directory", c.WorkingDir}, [2]string{"turns", fmt.Sprint(c.Turns)})
}

// elsewhere says where the messages of another agent's session are.
func (c *storedConversation) elsewhere() string {
	if !session.IsHost(c.ID) {
		return ""
	}
	return fmt.Sprintf("%s stores the messages itself; `patchbay trace list --session %s` lists what plugins did", c.Host, c.ID)
}

// passages returns the conversation from its beginning.
func (c *storedConversation) passages() []passage {
	if session.IsHost(c.ID) && c.silent() {
		return nil // only the number of turns is known
	}
	var out []passage
	for i := range c.Transcript {
		e := &c.Transcript[i]
		switch {
		case e.Message != nil:
			out = append(out, messagePassages(e.Message, e.Time)...)
		case e.Compaction != nil:
			out = append(out, passage{kind: passageNote, at: e.Time, text: compactionNote(e.Compaction)})
		case e.Status == session.Failed || e.Status == session.Interrupted || e.Status == session.Skipped:
			out = append(out, passage{kind: passageNote, at: e.Time, text: statusNote(e.Status)})
		}
	}
	return out
}

func (c *storedConversation) silent() bool {
	for i := range c.Transcript {
		if c.Transcript[i].Message != nil {
			return false
		}
	}
	return true
}

func messagePassages(m *model.Message, at time.Time) []passage {
	p := passage{text: m.Content, at: at}
	switch m.Role {
	case model.User:
		p.kind = passageUser
	case model.System:
		p.kind = passageSystem
	case model.ToolRole:
		p.kind, p.name, p.failed = passageResult, m.Name, m.Failed
	}
	var out []passage
	if m.Role != model.Assistant || strings.TrimSpace(m.Content) != "" {
		out = append(out, p)
	}
	for _, call := range m.ToolCalls {
		out = append(out, passage{kind: passageCall, name: call.Name, text: string(call.Arguments), at: at})
	}
	return out
}

func compactionNote(c *session.Compaction) string {
	by := ""
	if c.By != "" {
		by = " by " + c.By
	}
	return fmt.Sprintf("compacted%s (%s): from here on the model gets %s instead of %d", by, c.Strategy, render.Count(len(c.Messages), "message"), c.Before)
}

func statusNote(s session.Status) string {
	switch s {
	case session.Skipped:
		return "a plugin refused or dropped the message"
	case session.Interrupted:
		return "the turn was interrupted"
	}
	return "the turn failed"
}

// markdown returns a conversation for a file. Control characters are escaped, so that the file can
// be shown on a terminal.
func (c *storedConversation) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", render.Line(sessionTitle(c.Session)))
	for _, f := range c.facts() {
		fmt.Fprintf(&b, "- %s: %s\n", f[0], codeSpan(render.Line(f[1])))
	}
	for _, p := range c.passages() {
		b.WriteString("\n" + p.markdown())
	}
	if note := c.elsewhere(); note != "" {
		fmt.Fprintf(&b, "\n*%s*\n", note)
	}
	return b.String()
}

func (p *passage) markdown() string {
	text := harmless(trimEnd(p.text))
	when := p.at.Local().Format(time.DateTime)
	switch p.kind {
	case passageUser:
		return fmt.Sprintf("## You, %s\n\n%s\n", when, text)
	case passageCall:
		return fmt.Sprintf("**Tool call** %s\n\n%s", codeSpan(render.Line(p.name)), fenced("json", text))
	case passageResult:
		what := "Result"
		if p.failed {
			what = "Failed"
		}
		return fmt.Sprintf("**%s** of %s\n\n%s", what, codeSpan(render.Line(p.name)), fenced("", text))
	case passageSystem:
		return "**For the model**\n\n" + fenced("", text)
	case passageNote:
		return "*" + text + "*\n"
	}
	return fmt.Sprintf("## Agent, %s\n\n%s\n", when, text)
}

// harmless escapes everything in foreign text that a terminal would interpret, except tabs.
func harmless(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		parts := strings.Split(strings.TrimSuffix(line, "\r"), "\t")
		for j := range parts {
			parts[j] = render.Line(parts[j])
		}
		lines[i] = strings.Join(parts, "\t")
	}
	return strings.Join(lines, "\n")
}

// fenced returns a block of code, in a fence that the text does not close.
func fenced(language, text string) string {
	fence := strings.Repeat("`", max(longestRun(text)+1, 3))
	return fence + language + "\n" + text + "\n" + fence + "\n"
}

// codeSpan returns code for a line of text.
func codeSpan(text string) string {
	marks := strings.Repeat("`", longestRun(text)+1)
	if len(marks) > 1 {
		text = " " + text + " "
	}
	return marks + text + marks
}

// longestRun returns the largest number of backquotes in a row.
func longestRun(text string) int {
	longest, run := 0, 0
	for i := range len(text) {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

func trimEnd(text string) string { return strings.TrimRight(text, "\n") }
