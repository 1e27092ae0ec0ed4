package job

import (
	"context"
	"errors"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
)

// savePause is the time between two tries to save a result. A full disk stays full until a person
// frees space.
const savePause = time.Second

// saveResult records the result of an attempt. It tries until that succeeds. If the page stayed
// unchanged, the attempt would count as cut off, and the next process would make it again. For a
// manual run it returns the first error instead, unless the caller set Insist.
func (c *claim) saveResult(ctx context.Context, a Attempt, text string) error {
	before := c.run
	for told := false; ; told = true {
		c.run = before // a failed try has changed it
		err := c.trySaveResult(context.WithoutCancel(ctx), a, text)
		if err == nil || errors.Is(err, errLost) || c.run.Manual && !c.insist {
			return err
		}
		if !told {
			c.runner.Logger.Warn("cannot record the result of a run; trying again", "run", c.run.ID, "err", err)
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(savePause):
		}
	}
}

// safeWithoutBeat reports whether a run may go on although err kept its heartbeat from being
// written. It may if the disk is full and the page still names this process: another process that
// takes the run over would have to write to the same disk.
func (c *claim) safeWithoutBeat(ctx context.Context, key string, err error, wait time.Duration) bool {
	if !errors.Is(err, engine.ErrDisk) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	pg, _, err := c.parts.page(ctx, key)
	return err == nil && pg.Hold.token() == c.hold.token()
}
