package hookroad

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
)

// mostLines is how many events of one process are under way at once. An agent that has more waits.
const mostLines = 64

// Lines answers an event a line until stdin ends, side by side. Each answer is a line, which says
// which event it belongs to. Each event has a connection of its own: so a daemon may be replaced in
// between.
func Lines(ctx context.Context, o Options) error {
	o.Event = "" // each line says its own
	r := newRoad(o)
	var mu sync.Mutex // one answer is written at a time
	var running sync.WaitGroup
	defer running.Wait()
	places := make(chan struct{}, mostLines)
	in := bufio.NewReaderSize(o.In, 64<<10)
	for {
		line, err := readEvent(in)
		if len(line) > 0 {
			places <- struct{}{}
			began := time.Now()
			running.Go(func() {
				defer func() { <-places }()
				answer := strings.TrimSuffix(r.answer(ctx, line, began).Stdout, "\n")
				mu.Lock()
				defer mu.Unlock()
				_, _ = io.WriteString(o.Out, answer+"\n") // where the agent is gone, the end of stdin tells
			})
		}
		if errors.Is(err, io.EOF) || ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readEvent reads a line without its end. Of one that is too long the rest is passed over; what is
// left is no event.
func readEvent(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		piece, err := in.ReadSlice('\n')
		if len(line)+len(piece) <= codehook.MaxInput+1 {
			line = append(line, piece...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return []byte(strings.TrimSpace(string(line))), err
		}
	}
}
