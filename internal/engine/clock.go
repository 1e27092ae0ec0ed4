package engine

import (
	"context"
	"time"
)

// Now implements [Bucket]. The server puts its own time into its description of a stream. In a
// cluster the stream's leader answers, which also sets the times of messages. So one request
// without a write shows the age of a value, independent of the caller's clock.
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
