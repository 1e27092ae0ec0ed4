package tui

import (
	"context"
	"errors"
	"fmt"
	"io"

	tea "charm.land/bubbletea/v2"
	"charm.land/huh/v2"
)

// ErrGivenUp is returned by Ask if the user left instead of answering.
var ErrGivenUp = errors.New("given up")

// A Question asks the user of a command for a value that the flags do not give.
type Question struct {
	Title   string
	Hint    string      // shown before something is typed, or below the title of a choice
	Choices [][2]string // a word and its meaning; nil: the user types a text
	Check   func(answer string) error
	Width   int // columns of the terminal; 0: unknown
}

// width returns how wide the form may be. The terminal cuts off what is beyond its last column.
func (q *Question) width() int {
	if q.Width <= 0 {
		return maxForm
	}
	return min(q.Width, maxForm)
}

// Ask asks one question and returns the answer. It is for commands: the chat has its own screen.
func Ask(ctx context.Context, in io.Reader, out io.Writer, q Question) (string, error) {
	answer := ""
	keys := huh.NewDefaultKeyMap()
	keys.Quit.SetKeys("ctrl+c", "esc")
	keys.Select.Filter.SetEnabled(false)
	form := huh.NewForm(huh.NewGroup(q.field(&answer))).WithTheme(huh.ThemeFunc(formTheme)).WithKeyMap(keys).WithShowHelp(true).
		WithInput(in).WithOutput(out).WithWidth(q.width()).WithProgramOptions(tea.WithoutSignalHandler()).
		WithViewHook(func(v tea.View) tea.View {
			v.AltScreen = true // so that the form is gone when the command prints
			return v
		})
	err := form.RunWithContext(ctx)
	if errors.Is(err, huh.ErrUserAborted) || ctx.Err() != nil {
		return "", ErrGivenUp
	}
	return answer, err
}

func (q *Question) field(answer *string) huh.Field {
	if q.Choices == nil {
		return huh.NewInput().Title(q.Title).Placeholder(q.Hint).Value(answer).Validate(q.Check)
	}
	width := 0
	for _, c := range q.Choices {
		width = max(width, len(c[0]))
	}
	var options []huh.Option[string]
	for _, c := range q.Choices {
		options = append(options, huh.NewOption(fmt.Sprintf("%-*s  %s", width, c[0], c[1]), c[0]))
	}
	return huh.NewSelect[string]().Title(q.Title).Description(q.Hint).Options(options...).Value(answer)
}
