package render

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// Trace draws the path of an event through its plugins: which were called, how long each took, what
// each changed, and the verdict.
func Trace(w io.Writer, out *hook.Outcome, o Options) error {
	var b strings.Builder // written to w with one call, whose error is returned
	fmt.Fprintln(&b, o.traceHead(out))
	spec, _ := out.Point.Spec() // an unknown point has no mode
	rows := make([][]Cell, len(out.Steps))
	for i := range out.Steps {
		rows[i] = stepRow(i, &out.Steps[i], spec.Mode)
	}
	for i, row := range tableLines(rows, o, max(o.Width-len(traceIndent), 0)) {
		fmt.Fprintln(&b, traceIndent+row)
		for _, line := range o.stepDetail(&out.Steps[i]) {
			fmt.Fprintln(&b, o.paint(StyleDim, stepIndent)+line)
		}
	}
	o.verdict(&b, out)
	_, err := io.WriteString(w, b.String())
	return err
}

// traceIndent is before the row of a step.
const traceIndent = "  "

// stepIndent is the gutter below the name of a step, before its details.
const stepIndent = "     │ "

func (o Options) traceHead(out *hook.Outcome) string {
	parts := []string{Count(countPlugins(out), "plugin")}
	if calls := len(out.Steps); calls > countPlugins(out) {
		parts = append(parts, Count(calls, "call"))
	}
	parts = append(parts, Duration(out.Took()))
	if spec, ok := out.Point.Spec(); ok {
		parts = append([]string{string(spec.Mode)}, parts...)
	}
	return o.Paint(StyleBold, string(out.Point)) + o.paint(StyleDim, "  "+strings.Join(parts, " · "))
}

// countPlugins returns how many plugins were called. One plugin may have several hooks at a point.
func countPlugins(out *hook.Outcome) int {
	names := make(map[[2]string]bool)
	for i := range out.Steps {
		names[[2]string{out.Steps[i].Dialect, out.Steps[i].Plugin}] = true
	}
	return len(names)
}

// maxName limits a name, so that it does not push the rest of its row off the screen. Names of the
// protocols are shorter.
const maxName = 32

func stepRow(i int, s *hook.Step, mode hook.Mode) []Cell {
	name := s.Hook
	if s.For != "" {
		name += " " + s.For
	}
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

// stepWord returns what a step did to the event, in one word.
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

// quietWord returns the word for a plugin that changed nothing, which depends on the mode.
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

// stepDetail returns the lines below a step: its error, its notes, its changes and its messages.
func (o Options) stepDetail(s *hook.Step) []string {
	width := max(o.width()-len([]rune(stepIndent)), 20)
	var out []string
	if s.Err != nil {
		out = append(out, o.wrapped(StyleRed, s.Err.Cause(), width)...)
		out = append(out, o.paint(StyleDim, consequence(s.Action)))
	}
	for _, note := range s.Notes {
		out = append(out, o.wrapped(StyleYellow, "note: "+note, width)...)
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

// wrapped returns one line of foreign text in a style. On a screen it is broken at words into lines
// of the given width.
func (o Options) wrapped(s Style, text string, width int) []string {
	if o.Width == 0 {
		width = 0
	}
	out := strings.Split(Wrap(Line(text), width, ""), "\n")
	for i := range out {
		out[i] = o.paint(s, out[i])
	}
	return out
}

// messageLine shows a message, cut to one line.
func (o Options) messageLine(title string, raw json.RawMessage, width int) []string {
	if raw == nil {
		return nil
	}
	label := fmt.Sprintf("%-8s  ", title)
	return []string{o.paint(StyleDim, label) + Cut(Line(string(SafeJSON(raw))), width-len(label))}
}

// consequence returns what a failure did to the event.
func consequence(a hook.Action) string {
	switch a {
	case hook.ActionAbort:
		return "the failure ended the event"
	case hook.ActionDeny:
		return "the failure refused the event"
	}
	return "the event went on without this plugin"
}

// message shows a message on one line, or indented if it is too long.
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

// Verdict writes the verdict of an event, which plugin decided, why, and what to do about it.
func Verdict(w io.Writer, out *hook.Outcome, o Options) error {
	var b strings.Builder
	o.verdict(&b, out)
	_, err := io.WriteString(w, b.String())
	return err
}

func (o Options) verdict(b *strings.Builder, out *hook.Outcome) {
	if out.Failure() != nil {
		o.failure(b, out)
		return
	}
	line := o.paint(verdictStyle(out.Verdict), "→ "+string(out.Verdict))
	if out.By != "" {
		line += o.paint(StyleDim, " by ") + o.Paint(StyleBold, out.By)
	}
	if failed := countFailed(out); failed > 0 {
		line += o.Paint(StyleRed, fmt.Sprintf("  %d of %s failed", failed, Count(len(out.Steps), "call")))
	}
	if len(out.Steps) == 0 {
		line += o.paint(StyleDim, "  "+o.whyNoPlugin(out))
	}
	fmt.Fprintln(b, Wrap(line, o.Width, "  "))
	if out.Reason != "" {
		o.labelled(b, "reason", out.Reason)
	}
	if out.Suggest != "" {
		o.labelled(b, "suggest", out.Suggest)
	}
}

// failure writes how an event ended because a plugin failed. The failure itself is in the step's
// row, or in the error of the command.
func (o Options) failure(b *strings.Builder, out *hook.Outcome) {
	word := string(out.Verdict)
	if out.Aborted() {
		word = "aborted"
	}
	fmt.Fprintln(b, o.paint(StyleRed, "→ "+word)+o.paint(StyleDim, ", because ")+o.Paint(StyleBold, out.By)+o.paint(StyleDim, " failed"))
}

// countFailed returns how many calls failed.
func countFailed(out *hook.Outcome) int {
	n := 0
	for i := range out.Steps {
		if out.Steps[i].Err != nil {
			n++
		}
	}
	return n
}

// whyNoPlugin returns why no plugin was called.
func (o Options) whyNoPlugin(out *hook.Outcome) string {
	p := out.Point
	if len(o.Hooked) == 0 {
		return "no plugin hooks " + string(p)
	}
	payload, err := rawjson.Parse(out.Payload)
	if text, _ := payload.String("text"); err == nil && text == "" && (p == hook.TurnFinal || p == hook.ModelReply) {
		return Line(fmt.Sprintf("no plugin was called: the text is empty, and the plugins at %s are called only for a text: %s", p, strings.Join(o.Hooked, ", ")))
	}
	return Line(fmt.Sprintf("no plugin was called: the plugins at %s do not hook this event: %s", p, strings.Join(o.Hooked, ", ")))
}

// labelled writes foreign text after a label, with further lines below the first.
func (o Options) labelled(b *strings.Builder, label, text string) {
	const indent = len("  reason   ")
	for i, line := range strings.Split(Wrap(Block(text), o.Width-indent, ""), "\n") {
		if i > 0 {
			label = ""
		}
		fmt.Fprintf(b, "  %s  %s\n", o.paint(StyleDim, fmt.Sprintf("%-7s", label)), line)
	}
}
