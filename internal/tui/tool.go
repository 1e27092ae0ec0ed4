package tui

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/internal/render"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// The limits for showing a tool call: enough to see what it does. The model sees everything.
const (
	runningLines  = 3       // of the output, while it runs
	finishedLines = 4       // of the result
	tailBytes     = 4 << 10 // of the output kept while it runs
)

// A runningTool is a tool call that has not ended.
type runningTool struct {
	use   chat.ToolUse
	clock stopwatch
	tail  string // the end of its output: see keepTail
}

func newRunningTool(e *chat.Event) *runningTool {
	r := &runningTool{use: *e.Tool, clock: startStopwatch()}
	r.output(e.Text)
	return r
}

func (r *runningTool) output(text string) { r.tail = keepTail(r.tail, text) }

// keepTail returns the end of an output after more of it.
func keepTail(tail, more string) string {
	tail += more
	if over := len(tail) - tailBytes; over > 0 {
		tail = strings.ToValidUTF8(tail[over:], "")
	}
	return tail
}

// lines draws the call, how long it has taken, and the end of its output.
func (r *runningTool) lines(l look, output int) []string {
	elapsed := r.clock.elapsed()
	took := "  " + clock(elapsed)
	head := l.paint(render.StyleYellow, spinner(elapsed)) + " " +
		l.callLine(r.use.Name, r.use.Arguments, l.cols()-len(took)-len(gap)) + l.dim(took)
	return append([]string{head}, l.tailLines(r.tail, output)...)
}

// tailLines draws the last n lines of output after a gutter.
func (l look) tailLines(text string, n int) []string {
	lines := tailLines(text, n)
	for i := range lines {
		lines[i] = l.dim(gutter + render.Cut(lines[i], l.cols()-len([]rune(gutter))))
	}
	return lines
}

// tailLines returns the last n lines of output that are not empty.
func tailLines(text string, n int) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		// A progress bar overwrites its own line: the last state counts.
		line = strings.TrimRight(line, "\r")
		line = line[strings.LastIndexByte(line, '\r')+1:]
		if line = render.Line(expandTabs(line)); strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(len(lines)-n, 0):]
}

func expandTabs(s string) string { return strings.ReplaceAll(s, "\t", "    ") }

// gap is as wide as a mark with the space after it.
const gap = "  "

// callLine returns a call as one line: the tool, and its most important argument.
func (l look) callLine(name string, args json.RawMessage, width int) string {
	name = render.Cut(render.Line(name), width)
	rest := width - len([]rune(name)) - len(gap)
	brief := render.Line(briefArguments(args))
	if rest < 4 || brief == "" {
		return l.bold(name)
	}
	return l.bold(name) + gap + render.Cut(brief, rest)
}

// mainArguments lists the arguments that alone say what a call is about, in the built-in tools and
// in most others.
var mainArguments = []string{"cmd", "command", "path", "file", "url", "query"}

// briefArguments returns the main argument of a call, or all arguments as JSON.
func briefArguments(args json.RawMessage) string {
	o, err := rawjson.Parse(args)
	if err != nil || len(o) == 0 {
		return ""
	}
	for _, name := range mainArguments {
		if text, ok := o.String(name); ok && text != "" {
			return text
		}
	}
	return string(render.SafeJSON(o.JSON()))
}

// toolLines draws a finished call: the tool, its result, and the plugin that answered in its place.
func (s *screen) toolLines(u *chat.ToolUse) []string {
	l := s.look
	mark, style := markGood, render.StyleGreen
	if !u.Success {
		mark, style = markBad, render.StyleRed
	}
	took := "  " + clock(time.Duration(u.DurationMS)*time.Millisecond)
	head := l.paint(style, mark) + l.callLine(u.Name, u.Arguments, l.cols()-len(gap)-len(took)) + l.dim(took)
	out := []string{head}
	if u.ResolvedBy != nil {
		out = append(out, l.dim(gutter)+l.paint(render.StyleCyan, "answered by "+*u.ResolvedBy))
	}
	text, style := u.Result, render.StyleDim
	if !u.Success && u.Error != "" {
		text, style = joinText(u.Error, withoutNote(u.Result, u.Error)), render.StyleRed
	}
	return append(out, l.excerpt(text, style, finishedLines)...)
}

// withoutNote removes the last line of a result if it only repeats the error: the shell tool ends
// its output with "[exit code 1]", for the model.
func withoutNote(result, failure string) string {
	rest, found := strings.CutSuffix(strings.TrimRight(result, "\n"), "["+failure+"]")
	if !found || rest != "" && !strings.HasSuffix(rest, "\n") {
		return result
	}
	return rest
}

func joinText(a, b string) string {
	if b == "" || strings.Contains(a, b) {
		return a
	}
	return a + "\n" + b
}

// excerpt returns the first n lines of foreign text after a gutter, and counts the rest.
func (l look) excerpt(text string, style render.Style, n int) []string {
	all := strings.Split(strings.Trim(render.Block(text), "\n"), "\n")
	if len(all) == 1 && strings.TrimSpace(all[0]) == "" {
		return nil
	}
	var out []string
	for _, line := range all[:min(n, len(all))] {
		out = append(out, l.dim(gutter)+l.paint(style, render.Cut(line, l.cols()-len([]rune(gutter)))))
	}
	if rest := len(all) - n; rest > 0 {
		out = append(out, l.dim(fmt.Sprintf("%s… %s more", gutter, render.Count(rest, "line"))))
	}
	return out
}
