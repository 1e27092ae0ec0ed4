package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/patchbay-dev/patchbay/internal/render"
)

// An output keeps its first write error, so that commands need not ask at every line: [app.report]
// looks once, at the end.
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

// printJSON writes a result: on one line for programs, indented for a person.
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

// encodeJSON encodes without escaping what need not be, but for characters that must not reach a
// terminal: nobody knows where the output ends up.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	return render.SafeJSON(bytes.TrimSpace(b.Bytes())), nil
}

// printf writes to stdout. What is foreign in args must have passed through package render.
func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.out, format, args...) }

// sayf is printf for sentences: where a person reads them, lines are broken at words.
func (a *app) sayf(format string, args ...any) {
	_, _ = io.WriteString(a.out, render.Wrap(fmt.Sprintf(format, args...), a.screen().Width, "")) // the output keeps the error
}

// tellf is sayf for stderr.
func (a *app) tellf(format string, args ...any) {
	_, _ = io.WriteString(a.Err, render.Wrap(fmt.Sprintf(format, args...), a.errScreen().Width, "")) // a remark that nobody can read
}

// printForeign writes a plugin's own text as the result: as it is for a program, fit to be shown
// for a person. It ends with a line end in any case.
func (a *app) printForeign(text string) {
	if a.OutTTY {
		text = render.Block(text)
	}
	if len(text) == 0 || text[len(text)-1] != '\n' {
		text += "\n"
	}
	_, _ = io.WriteString(a.out, text) // the output keeps the error
}
