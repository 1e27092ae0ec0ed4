package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/conformance"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// A conformView shows a test as it runs: a line for each check, and details below a check that did
// not pass.
type conformView struct {
	*app
	began time.Time
	shown bool // the terminal shows a line of progress

	untried []string // why checks were not tried, in order
	counts  map[string]int
}

func (v *conformView) head(t conformance.Target) {
	where := v.place(t.Path)
	if where == "" {
		where = strings.Join(t.Command, " ")
	}
	o := v.screen()
	v.printf("%s %s  %s\n", o.Paint(render.StyleBold, t.Name), o.Paint(render.StyleDim, "("+t.Dialect+")"), o.Paint(render.StyleDim, where))
}

// begin shows the running check on a terminal.
func (v *conformView) begin(c conformance.Check) {
	if v.OutTTY && v.ErrTTY && v.colors() {
		fmt.Fprintf(v.Err, "\r\x1b[K  …     %s", c.ID)
		v.shown = true
	}
}

// clear removes the line of progress.
func (v *conformView) clear() {
	if v.shown {
		_, _ = io.WriteString(v.Err, "\r\x1b[K") // progress that cannot be shown is not important
		v.shown = false
	}
}

var conformWords = map[conformance.Status]struct {
	word  string
	style render.Style
}{
	conformance.Pass: {"ok  ", render.StyleGreen},
	conformance.Fail: {"FAIL", render.StyleRed},
	conformance.Warn: {"warn", render.StyleYellow},
	conformance.Skip: {"skip", render.StyleDim},
}

func (v *conformView) result(r conformance.Result) {
	v.clear()
	if why, ok := strings.CutPrefix(r.Message, conformance.NotTried); ok && r.Status == conformance.Skip && strings.HasSuffix(why, " failed") {
		v.leaveOut(why)
		return
	}
	o, word := v.screen(), conformWords[r.Status]
	first, rest, _ := strings.Cut(r.Message, "\n")
	v.printf("%s\n", render.Wrap(fmt.Sprintf("  %s  %s  %s", o.Paint(word.style, word.word), render.Line(r.ID), o.Paint(render.StyleDim, first)), o.Width, "      "))
	if r.Status != conformance.Fail && r.Status != conformance.Warn {
		return
	}
	for line := range strings.Lines(rest) {
		v.indented(render.Line(strings.TrimSpace(line)))
	}
	v.indented("rule: " + render.Line(r.Spec))
	v.indented("fix:  " + render.Line(r.Fix))
}

// indented prints a line below the name of a check.
func (v *conformView) indented(line string) {
	v.printf("%s\n", render.Wrap("        "+line, v.screen().Width, "      "))
}

// leaveOut counts a check that was not tried because another one failed. One line at the end
// reports them together, so that they do not hide the check that failed.
func (v *conformView) leaveOut(why string) {
	if v.counts == nil {
		v.counts = make(map[string]int)
	}
	if v.counts[why]++; v.counts[why] == 1 {
		v.untried = append(v.untried, why)
	}
}

func (v *conformView) foot(r *conformance.Report) {
	o := v.screen()
	for _, why := range v.untried {
		v.printf("  %s  %s\n", o.Paint(render.StyleDim, "skip"), o.Paint(render.StyleDim, render.Count(v.counts[why], "check")+" not tried, because "+why))
	}
	parts := []string{fmt.Sprintf("%d passed", r.Count(conformance.Pass))}
	if n := r.Count(conformance.Fail); n > 0 {
		parts = append(parts, o.Paint(render.StyleRed, fmt.Sprintf("%d failed", n)))
	}
	if n := r.Count(conformance.Warn); n > 0 {
		parts = append(parts, o.Paint(render.StyleYellow, render.Count(n, "warning")))
	}
	if n := r.Count(conformance.Skip); n > 0 {
		parts = append(parts, fmt.Sprintf("%d skipped", n))
	}
	v.printf("%s: %s, in %s\n", render.Line(r.Plugin), strings.Join(parts, ", "), render.Duration(time.Since(v.began)))
}
