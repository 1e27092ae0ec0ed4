package job

import (
	"context"
	"errors"
	"time"
)

// recordPause is between two tries to write a result down. A disk stays full until somebody makes room.
const recordPause = time.Second

// record writes down what came of an attempt. Of a scheduled run it tries until that works: a page that stays as it is would count the attempt as cut off, and
// the next process would make it again. Who asked for a run by hand is told at once.
func (c *claim) record(ctx context.Context, a Attempt, text string) error {
	before := c.run
	for told := false; ; told = true {
		c.run = before // a try that failed has changed it
		err := c.settle(context.WithoutCancel(ctx), a, text)
		if err == nil || errors.Is(err, errLost) || c.run.Manual {
			return err
		}
		if !told {
			c.runner.Logger.Warn("the result of a run cannot be recorded; it is tried again", "run", c.run.ID, "err", err)
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(recordPause):
		}
	}
}
