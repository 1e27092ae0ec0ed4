package cli

import (
	"context"

	"github.com/patchbay-dev/patchbay/adapter/chat"
)

// eventLines prints the events of a turn, one on each line, for `chat -p --json --stream`. If the
// reader is gone it calls giveUp. The end of the turn is not printed, because the result follows.
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

// printLine writes a value as one line of JSON, on a terminal too.
func (a *app) printLine(v any) error {
	raw, err := encodeJSON(v)
	if err != nil {
		return err
	}
	_, _ = a.out.Write(append(raw, '\n')) // a.out keeps the error
	return nil
}
