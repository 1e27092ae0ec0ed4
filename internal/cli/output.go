package cli

import (
	"fmt"
	"io"

	"github.com/patchbay-dev/patchbay/internal/render"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// An output keeps its first write error, so that commands need not check every line. [app.report]
// checks once, at the end.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(p)
	o.err = err
	return n, err
}

// printJSON writes a result: on one line for programs, indented on a terminal.
func (a *app) printJSON(v any) error {
	raw, err := encodeJSON(v)
	if err != nil {
		return err
	}
	if a.OutTTY {
		return render.JSON(a.out, raw, a.screen())
	}
	_, err = a.out.Write(append(raw, '\n'))
	return err
}

// encodeJSON encodes without needless escapes, but escapes characters that must not reach a
// terminal, because the output may be shown on one.
func encodeJSON(v any) ([]byte, error) {
	text, err := rawjson.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	return render.SafeJSON(text), nil
}

// printf writes to stdout. Foreign text in args must have passed through package render.
func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.out, format, args...) }

// sayf is printf for sentences. On a terminal, lines are broken at words.
func (a *app) sayf(format string, args ...any) {
	_, _ = io.WriteString(a.out, render.Wrap(fmt.Sprintf(format, args...), a.screen().Width, "")) // a.out keeps the error
}

// tellf is sayf for stderr.
func (a *app) tellf(format string, args ...any) {
	_, _ = io.WriteString(a.Err, render.Wrap(fmt.Sprintf(format, args...), a.errScreen().Width, "")) // a remark that cannot be shown is lost
}

// printForeign writes a plugin's own text as the result: unchanged for a program, and safe for a
// terminal. It always ends with a line end.
func (a *app) printForeign(text string) {
	if a.OutTTY {
		text = render.Block(text)
	}
	if len(text) == 0 || text[len(text)-1] != '\n' {
		text += "\n"
	}
	_, _ = io.WriteString(a.out, text) // a.out keeps the error
}
