package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	// maxReplyBytes limits the size of one reply. The longest replies of today's models have a
	// million tokens, with an event of about 150 bytes each.
	maxReplyBytes = 256 << 20
	// maxReplyTime limits the duration of a reply. The providers end requests after ten to thirty
	// minutes.
	maxReplyTime = time.Hour
)

var (
	errEndless = fmt.Errorf("the reply did not end within %s", maxReplyTime)
	errHuge    = fmt.Errorf("the reply has more than %d MiB", maxReplyBytes>>20)
)

// A watch ends a request that is silent for too long, never ends, or is too large. It counts bytes
// and not events: a comment or half an event also shows that the server is alive.
type watch struct {
	ctx    context.Context // of the request
	cancel context.CancelCauseFunc
	idle   time.Duration
	quiet  *time.Timer // ends the request if nothing came
	whole  *time.Timer // ends the request if it takes too long
}

func newWatch(ctx context.Context, idle time.Duration) *watch {
	w := &watch{idle: idle}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.quiet = time.AfterFunc(idle, func() { w.cancel(fmt.Errorf("%w (%s)", ErrIdle, idle)) })
	w.whole = time.AfterFunc(maxReplyTime, func() { w.cancel(errEndless) })
	return w
}

func (w *watch) stop() {
	w.quiet.Stop()
	w.whole.Stop()
	w.cancel(nil)
}

// cause returns why the watch ended the request, or nil if it did not.
func (w *watch) cause() error {
	switch err := context.Cause(w.ctx); {
	case errors.Is(err, ErrIdle), errors.Is(err, errEndless), errors.Is(err, errHuge):
		return err
	}
	return nil
}

// A watchedBody reports every byte to its watch. One goroutine reads it.
type watchedBody struct {
	io.ReadCloser
	watch *watch
	left  int64 // bytes that may still come
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.watch.quiet.Reset(b.watch.idle)
	}
	if b.left -= int64(n); b.left < 0 {
		b.watch.cancel(errHuge)
		return 0, errHuge
	}
	return n, err
}
