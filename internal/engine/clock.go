package engine

import (
	"context"
	"time"
)

// Now implements [Bucket]. The server puts its own time into what it tells about a stream, and in a
// cluster the stream's leader is asked, which is also the one that stamps what is written. So one
// request, and no write, tells how old a value is without the caller's clock.
func (b *bucket) Now(ctx context.Context) (time.Time, error) {
	var now time.Time
	err := b.link.do(ctx, func(ctx context.Context) error {
		info, err := b.stream.Info(ctx)
		if err == nil {
			now = info.TimeStamp
		}
		return err
	})
	return now, err
}
