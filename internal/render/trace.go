package render

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
)

// Trace draws an event's way through its plugins: who was asked, how long each took, what each
// changed, and how it came out.
func Trace(w io.Writer, out *hook.Outcome, o Options) error {
	var b strings.Builder // a drawing goes out in one write, and its error is the caller's
	fmt.Fprintln(&b, o.traceHead(out))
	spec, _ := out.Point.Spec() // of no point: no mode, and the plainest words
	rows := make([][]Cell, len(out.Steps))
	for i := range out.Steps {
		rows[i] = stepRow(i, &out.Steps[i], spec.Mode)
	}
	for i, row := range tableLines(rows, o, 0) {
		fmt.Fprintln(&b, "  "+row)
		for _, line := range o.stepDetail(&out.Steps[i]) {
			fmt.Fprintln(&b, o.paint(StyleDim, stepIndent)+line)
		}
	}
	o.verdict(&b, out)
	_, err := io.WriteString(w, b.String())
	return err
}

// stepIndent is a gutter under the step's name, so that its detail is seen to belong to it.
const stepIndent = "     │ "

func (o Options) traceHead(out *hook.Outcome) string {
	parts := []string{Count(len(out.Steps), "plugin"), Duration(elapsed(out.Steps))}
	if spec, ok := out.Point.Spec(); ok {
		parts = append([]string{string(spec.Mode)}, parts...)
	}
	return o.Paint(StyleBold, string(out.Point)) + o.paint(StyleDim, "  "+strings.Join(parts, " · "))
}

// elapsed is from the first step's start to the last one's end: at a notify point they run side by
// side.
func elapsed(steps []hook.Step) time.Duration {
	if len(steps) == 0 {
		return 0
	}
	begin, end := steps[0].Started, steps[0].Started
	for i := range steps {
		if steps[i].Started.Before(begin) {
			begin = steps[i].Started
		}
		if done := steps[i].Started.Add(steps[i].Duration); done.After(end) {
			end = done
		}
	}
	return end.Sub(begin)
}

// maxName keeps one long name from pushing every row off the screen; the protocols' own names are
// shorter.
const maxName = 32

func stepRow(i int, s *hook.Step, mode hook.Mode) []Cell {
	name := s.Hook
	if s.Connected {
		name += " (connected)"
	}
	word, style := stepWord(s, mode)
	return []Cell{
		{Text: fmt.Sprintf("%d", i+1), Style: StyleDim, Right: true},
		{Text: Cut(Line(s.Plugin), maxName), Style: StyleBold},
		{Text: s.Dialect, Style: StyleDim},
		{Text: Cut(Line(name), maxName)},
		{Text: word, Style: style},
		{Text: Duration(s.Duration), Style: StyleDim, Right: true},
	}
}

// stepWord says in a word what a step did to the event.
func stepWord(s *hook.Step, mode hook.Mode) (string, Style) {
	switch {
	case s.Err != nil:
		return "failed", StyleRed
	case s.Verdict != hook.Continue:
		return string(s.Verdict), verdictStyle(s.Verdict)
	case s.Changed:
		return "changed", StyleGreen
	}
	return quietWord(mode), StyleDim
}

// quietWord is for a plugin that changed nothing: what that means depends on the mode.
func quietWord(mode hook.Mode) string {
	switch mode {
	case hook.Gate:
		return "agreed"
	case hook.First:
		return "no answer"
	case hook.Notify:
		return "told"
	}
	return "no change"
}

// stepDetail is what stands below a step: what went wrong, what was odd, what changed, and what was
// said.
func (o Options) stepDetail(s *hook.Step) []string {
	width := max(o.width()-len([]rune(stepIndent)), 20)
	var out []string
	if s.Err != nil {
		out = append(out, o.Paint(StyleRed, cause(s.Err)), o.paint(StyleDim, consequence(s.Action)))
	}
	for _, note := range s.Notes {
		out = append(out, o.Paint(StyleYellow, "note: "+note))
	}
	out = append(out, o.changes(s.Diff(), width)...)
	if o.Verbose {
		out = append(out, o.message("sent", s.Sent, width)...)
		return append(out, o.message("received", s.Received, width)...)
	}
	if o.Wire {
		out = append(out, o.messageLine("sent", s.Sent, width)...)
		out = append(out, o.messageLine("received", s.Received, width)...)
	}
	return out
}

// messageLine shows what went over the wire, cut to one line.
func (o Options) messageLine(title string, raw json.RawMessage, width int) []string {
	if raw == nil {
		return nil
	}
	label := fmt.Sprintf("%-8s  ", title)
	return []string{o.paint(StyleDim, label) + Cut(Line(string(SafeJSON(raw))), width-len(label))}
}

// cause is an error without the names that stand in the step's row already.
func cause(e *hook.Error) string {
	bare := *e
	bare.Plugin, bare.Hook, bare.Point = "", "", ""
	return bare.Error()
}

// consequence is the failure table's word, in a sentence.
func consequence(a hook.Action) string {
	switch a {
	case hook.ActionAbort:
		return "this ended the event"
	case hook.ActionDeny:
		return "this refused the event"
	}
	return "left out; the event went on"
}

// message shows what went over the wire: on one line, or indented where that is too long.
func (o Options) message(title string, raw json.RawMessage, width int) []string {
	if raw == nil {
		return nil
	}
	label := fmt.Sprintf("%-8s  ", title)
	if len(label)+len(raw) <= width {
		return []string{o.paint(StyleDim, label) + Line(string(SafeJSON(raw)))}
	}
	out := []string{o.paint(StyleDim, title)}
	body := strings.Split(Options{}.jsonText(raw), "\n")
	for _, line := range body[:min(len(body), maxChangeLines)] {
		out = append(out, Cut(line, width))
	}
	if rest := len(body) - maxChangeLines; rest > 0 {
		out = append(out, o.paint(StyleDim, "… and "+Count(rest, "more line")))
	}
	return out
}

// Verdict says how an event came out, who decided, why, and what to do about it.
func Verdict(w io.Writer, out *hook.Outcome, o Options) error {
	var b strings.Builder
	o.verdict(&b, out)
	_, err := io.WriteString(w, b.String())
	return err
}

func (o Options) verdict(b *strings.Builder, out *hook.Outcome) {
	line := o.paint(verdictStyle(out.Verdict), "→ "+string(out.Verdict))
	if out.By != "" {
		line += o.paint(StyleDim, " by ") + o.Paint(StyleBold, out.By)
	}
	if len(out.Steps) == 0 {
		line += o.paint(StyleDim, "  "+o.nobody(out.Point))
	}
	fmt.Fprintln(b, line)
	if out.Reason != "" {
		o.labelled(b, "reason", out.Reason)
	}
	if out.Suggest != "" {
		o.labelled(b, "suggest", out.Suggest)
	}
}

// nobody says why no plugin was asked.
func (o Options) nobody(p hook.Point) string {
	if len(o.Hooked) == 0 {
		return "no plugin hooks " + string(p)
	}
	return Line(fmt.Sprintf("no plugin was asked: what hooks %s is not for this event: %s", p, strings.Join(o.Hooked, ", ")))
}

// labelled writes foreign text behind a label, its further lines below the first.
func (o Options) labelled(b *strings.Builder, label, text string) {
	for i, line := range lines(text) {
		if i > 0 {
			label = ""
		}
		fmt.Fprintf(b, "  %s  %s\n", o.paint(StyleDim, fmt.Sprintf("%-7s", label)), line)
	}
}
