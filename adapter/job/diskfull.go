package job

import (
	"context"
	"errors"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
)

// savePause is between two tries to write a result down. A disk stays full until somebody makes
// room.
const savePause = time.Second

// saveResult writes down what came of an attempt. It tries until that works: a page that stays as
// it is would count the attempt as cut off, and the next process would make it again. Who asked for
// a run by hand, and waits for it, is told at once, unless the run is to be insisted on.
func (c *claim) saveResult(ctx context.Context, a Attempt, text string) error {
	before := c.run
	for told := false; ; told = true {
		c.run = before // a try that failed has changed it
		err := c.trySaveResult(context.WithoutCancel(ctx), a, text)
		if err == nil || errors.Is(err, errLost) || c.run.Manual && !c.insist {
			return err
		}
		if !told {
			c.runner.Logger.Warn("the result of a run cannot be recorded; it is tried again", "run", c.run.ID, "err", err)
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(savePause):
		}
	}
}

// safeWithoutBeat tells whether a run may go on though its sign of life could not be written. It
// may where the disk is full and the page still names this process: to take the run over, another
// process would have to write to the same disk.
func (c *claim) safeWithoutBeat(ctx context.Context, key string, err error, wait time.Duration) bool {
	if !errors.Is(err, engine.ErrDisk) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	pg, _, err := c.parts.page(ctx, key)
	return err == nil && pg.Hold.token() == c.hold.token()
}
