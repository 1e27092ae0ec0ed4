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

// Lines reads one event a line until stdin ends, and answers them in parallel. Each answer is one
// line and names its event. Each event has its own connection, so that the daemon may be replaced
// in between.
func Lines(ctx context.Context, o Options) error {
	o.Event = "" // each line names its own event
	c := newClient(o)
	var mu sync.Mutex // only one answer is written at a time
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
				answer := strings.TrimSuffix(c.answer(ctx, line, began).Stdout, "\n")
				mu.Lock()
				defer mu.Unlock()
				_, _ = io.WriteString(o.Out, answer+"\n") // if the agent is gone, stdin ends
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
