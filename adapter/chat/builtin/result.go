package builtin

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
)

const (
	// shownMax is how many bytes one call shows. The agent cuts longer results without knowing what
	// it cuts.
	shownMax = 256 << 10

	// noteRoom is the part of shownMax reserved for the note that says what was cut.
	noteRoom = 1 << 10

	// quotedMax is how many bytes of a foreign line are quoted in a message.
	quotedMax = 200
)

// A hostError is an error that the model cannot fix and is not told.
type hostError struct{ err error }

func (e *hostError) Error() string { return e.err.Error() }

func (e *hostError) Unwrap() error { return e.err }

// result returns the result of a call. A tool that ran and failed has a result; the error is for
// tools that could not run.
func result(output string, err error) (chat.ToolResult, error) {
	output = clean(output)
	if host, ok := errors.AsType[*hostError](err); ok {
		return chat.ToolResult{Output: output, Error: host.Error()}, host.err
	}
	if err != nil {
		return chat.ToolResult{Output: output, Error: clean(err.Error())}, nil
	}
	return chat.ToolResult{Output: output, Success: true}, nil
}

// clean returns foreign text in a form that can be passed on: valid UTF-8 without NULs. JSON can
// carry a NUL, but several readers of JSON reject it. Each run of NULs and invalid bytes becomes
// one U+FFFD.
func clean(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\xff"), string(utf8.RuneError))
}

// note adds a remark of ours to foreign text, on its own line.
func note(text, format string, args ...any) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + "[" + fmt.Sprintf(format, args...) + "]\n"
}

// quoted returns foreign text for a message.
func quoted(text string) string {
	if len(text) > quotedMax {
		return fmt.Sprintf("%q…", excerpt.Head(text, quotedMax))
	}
	return fmt.Sprintf("%q", text)
}

// size returns a number of bytes in a readable unit.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

// plural returns "1 line" or "3 lines".
func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
