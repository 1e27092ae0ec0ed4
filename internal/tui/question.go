package tui

import (
	"fmt"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/render"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// questionLines draws the first question: the tool, what it would do, and the keys that answer. The
// keys come last and are always visible.
func (s *screen) questionLines(room space) []string {
	q, l := s.questions[0], s.look
	const little = 10 // rows: too few for empty lines and explanations
	if room.lines < little {
		head := l.questionHead(q, len(s.questions))
		keys := l.paint(render.StyleCyan, render.Cut(q.briefKeys(), l.cols()))
		return []string{head, l.dim(render.Cut(render.Line(briefArguments(q.call.Arguments)), l.cols())), keys}
	}
	out := []string{l.questionHead(q, len(s.questions)), ""}
	body := q.lines(l)
	keys := s.questionKeys(q, false)
	if !room.without(out...).without(keys...).has(body) {
		keys = s.questionKeys(q, true)
		shown := room.without(append(out, "more")...).without(keys...).first(body)
		more := fmt.Sprintf("  … %s more", render.Count(len(body)-len(shown), "line"))
		body = append(shown[:len(shown):len(shown)], l.paint(render.StyleYellow, more))
	}
	return clip(append(append(out, body...), keys...), room.lines)
}

// lines returns the question's body, which is drawn once: it may be a large file, and the screen is
// redrawn often.
func (q *question) lines(l look) []string {
	if q.width != l.width {
		q.body, q.width = l.questionBody(q), l.width
	}
	return q.body
}

func (l look) questionHead(q *question, waiting int) string {
	text := q.title()
	if waiting > 1 {
		text += fmt.Sprintf("  (1 of %d)", waiting)
	}
	return l.paint(render.StyleYellow, "? ") + l.bold(render.Cut(render.Line(text), l.cols()-len(gap)))
}

// questionKeys says how to answer, on as many lines as needed.
func (s *screen) questionKeys(q *question, cut bool) []string {
	text := q.keys(cut, s.look.cols()-len(gap))
	if !q.armed && s.typing() {
		text = "stop typing for a moment, then: " + text
	}
	lines := wrap(text, s.look.cols()-len(gap))
	for i := range lines {
		lines[i] = s.look.paint(render.StyleCyan, gap+lines[i])
	}
	return append([]string{""}, lines...)
}

// questionBody draws what the call would do: for a built-in tool as a person would write it, and
// for other tools as the arguments.
func (l look) questionBody(q *question) []string {
	args, err := rawjson.Parse(q.call.Arguments)
	if err != nil {
		return l.signed(' ', string(q.call.Arguments))
	}
	if q.tool.Plugin == "" {
		if body := l.builtinBody(q.tool.Name, args); body != nil {
			return body
		}
	}
	return l.jsonBody(args)
}

func (l look) builtinBody(tool string, args rawjson.Object) []string {
	path, hasPath := args.String("path")
	switch tool {
	case "shell":
		if cmd, ok := args.String("cmd"); ok {
			return hang("  $ ", l.paintLines(render.StylePlain, cmd, l.cols()-len("  $ ")))
		}
	case "write_file":
		if content, ok := args.String("content"); ok && hasPath {
			return append(l.pathLine(path), l.signed('+', content)...)
		}
	case "edit_file":
		old, ok := args.String("old")
		if changed, isNew := args.String("new"); ok && isNew && hasPath {
			return append(l.pathLine(path), l.editBody(old, changed)...)
		}
	}
	return nil
}

func (l look) pathLine(path string) []string {
	return []string{l.paint(render.StyleCyan, "  "+render.Cut(render.Line(path), l.cols()-len(gap)))}
}

// editBody draws the removed lines and the new ones. Of the lines that both texts have in common,
// it draws only the last one before the change and the first one after it, both dimmed.
func (l look) editBody(old, changed string) []string {
	a, b := strings.Split(old, "\n"), strings.Split(changed, "\n")
	head := commonLines(a, b, false)
	tail := commonLines(a[head:], b[head:], true)
	var out []string
	if head > 0 {
		out = append(out, l.signed(' ', a[head-1])...)
	}
	if gone := a[head : len(a)-tail]; len(gone) > 0 {
		out = append(out, l.signed('-', strings.Join(gone, "\n"))...)
	}
	if come := b[head : len(b)-tail]; len(come) > 0 {
		out = append(out, l.signed('+', strings.Join(come, "\n"))...)
	}
	if tail > 0 {
		out = append(out, l.signed(' ', a[len(a)-tail])...)
	}
	return out
}

// commonLines counts the common lines at the beginning of two texts, or at the end.
func commonLines(a, b []string, fromEnd bool) int {
	n := 0
	for n < len(a) && n < len(b) {
		i, j := n, n
		if fromEnd {
			i, j = len(a)-1-n, len(b)-1-n
		}
		if a[i] != b[j] {
			break
		}
		n++
	}
	return n
}

// signed returns text with a sign before each line, as in a diff. It wraps long lines and does not
// cut them: the user must be able to read all of what they agree to.
func (l look) signed(sign byte, text string) []string {
	style := render.StyleDim
	switch sign {
	case '+':
		style = render.StyleGreen
	case '-':
		style = render.StyleRed
	}
	var out []string
	for line := range strings.SplitSeq(strings.TrimSuffix(render.Block(text), "\n"), "\n") {
		for i, piece := range wrap(line, l.cols()-4) {
			mark := string(sign)
			if i > 0 {
				mark = " "
			}
			out = append(out, l.paint(style, "  "+mark+" "+piece))
		}
	}
	return out
}

func (l look) jsonBody(args rawjson.Object) []string {
	var b strings.Builder
	if err := render.JSON(&b, args.JSON(), render.Options{}); err != nil {
		return l.signed(' ', string(args.JSON()))
	}
	var out []string
	for line := range strings.SplitSeq(strings.TrimSpace(b.String()), "\n") {
		out = append(out, hang(gap, wrap(line, l.cols()-len(gap)))...)
	}
	return out
}

// printQuestion prints all of a question into the scrollback.
func (s *screen) printQuestion(q *question) {
	out := append([]string{s.look.questionHead(q, 1)}, s.look.questionBody(q)...)
	s.printer.apart()
	s.printer.add(blockNote, out)
}
