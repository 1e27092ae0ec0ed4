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
	// shownMax is how much one call shows: the agent cuts what is longer, without knowing what it
	// cuts.
	shownMax = 256 << 10

	// noteRoom is what of shownMax is kept free for saying what was cut.
	noteRoom = 1 << 10

	// quotedMax is how much of a foreign line is quoted in a message.
	quotedMax = 200
)

// A hostError is one that the model cannot mend, and that is none of its business.
type hostError struct{ err error }

func (e *hostError) Error() string { return e.err.Error() }

func (e *hostError) Unwrap() error { return e.err }

// result is what a call came to. "A tool that ran and failed is a result; the error is for those
// that could not run."
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

// clean is foreign text as it can be passed on: valid UTF-8, and without NULs, which JSON can carry
// and several readers of it cannot bear. A run of what is neither becomes one U+FFFD.
func clean(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\xff"), string(utf8.RuneError))
}

// note is a remark of ours under foreign text, on a line of its own.
func note(text, format string, args ...any) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + "[" + fmt.Sprintf(format, args...) + "]\n"
}

// quoted is foreign text in a message.
func quoted(text string) string {
	if len(text) > quotedMax {
		return fmt.Sprintf("%q…", excerpt.Head(text, quotedMax))
	}
	return fmt.Sprintf("%q", text)
}

// size is a number of bytes as people say it.
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

// plural is "1 line" or "3 lines".
func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
