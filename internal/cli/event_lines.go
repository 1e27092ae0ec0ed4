package cli

import (
	"context"

	"github.com/patchbay-dev/patchbay/adapter/chat"
)

// eventLines prints a turn's events, one a line, as `chat -p --json --stream` has them. When the
// reader is gone the turn is given up. The end of the turn is left out: the result follows.
func (a *app) eventLines(giveUp context.CancelFunc) func(chat.Event) {
	return func(e chat.Event) {
		if e.Type == chat.TurnFinished {
			return
		}
		if err := a.printLine(e); err != nil {
			a.logger().Warn("cannot print an event", "event", e.Type, "err", err)
		}
		if a.out.err != nil {
			giveUp()
		}
	}
}

// printLine writes a value as one line of JSON, also on a terminal.
func (a *app) printLine(v any) error {
	raw, err := encodeJSON(v)
	if err != nil {
		return err
	}
	_, _ = a.out.Write(append(raw, '\n')) // the output keeps the error
	return nil
}
