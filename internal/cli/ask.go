package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// ask asks the person at the terminal for a line.
func (a *app) ask(ctx context.Context, question string) (string, error) {
	fmt.Fprint(a.Err, question)
	line, err := interruptible(ctx, func() (string, error) { return readLine(a.In) })
	if err != nil {
		fmt.Fprintln(a.Err)
	}
	return strings.TrimSpace(line), err
}

// certain asks before something that cannot be undone; no answer means no. Where nobody can be asked, --yes has to
// say it.
func (a *app) certain(ctx context.Context, question string, yes bool) error {
	if yes {
		return nil
	}
	if !a.InTTY {
		return usage("write --yes", "nobody is here to be asked: %s", question)
	}
	answer, err := a.ask(ctx, question+" [y/N] ")
	if err != nil {
		return err
	}
	if w := strings.ToLower(answer); w != "y" && w != "yes" {
		return &problem{kind: kindRefused, err: errors.New("nothing was done")}
	}
	return nil
}
