package hookclient

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

// mostLines limits how many events of one process are answered at once. Further events wait.
const mostLines = 64

// Lines reads one event a line until stdin or ctx ends, and answers them in parallel. Each answer
// is one line and names its event. Each event has its own connection, so that the daemon may be
// replaced in between.
func Lines(ctx context.Context, o Options) error {
	o.Event = "" // each line names its own event
	c := newClient(o)
	var mu sync.Mutex // only one answer is written at a time
	var running sync.WaitGroup
	defer running.Wait()
	places := make(chan struct{}, mostLines)
	events := readEvents(ctx, o.In)
	for {
		var e rawEvent
		select {
		case e = <-events:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if len(e.line) > 0 {
			places <- struct{}{}
			began := time.Now()
			running.Go(func() {
				defer func() { <-places }()
				answer := strings.TrimSuffix(c.answer(ctx, e.line, began).Stdout, "\n")
				mu.Lock()
				defer mu.Unlock()
				_, _ = io.WriteString(o.Out, answer+"\n") // if the agent is gone, stdin ends
			})
		}
		switch {
		case errors.Is(e.err, io.EOF):
			return nil
		case e.err != nil:
			return e.err
		}
	}
}

// A rawEvent is a line of stdin, and the error that ended the reading, if any.
type rawEvent struct {
	line []byte
	err  error
}

// readEvents reads events on a goroutine of its own, because a read from a pipe cannot be
// interrupted. The goroutine ends with the input, or after ctx at the next event.
func readEvents(ctx context.Context, r io.Reader) <-chan rawEvent {
	events := make(chan rawEvent)
	go func() {
		in := bufio.NewReaderSize(r, 64<<10)
		for {
			line, err := readEvent(in)
			select {
			case events <- rawEvent{line, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return events
}

// readEvent reads a line without its end. If the line is too long, the rest of it is dropped, and
// the returned part is not a valid event.
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
