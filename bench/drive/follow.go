package drive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// An Event is one event of the daemon's stream.
type Event struct {
	ID   uint64 // 0: the event has no id
	Kind string
	Data string
}

// ErrEnough is returned by a callback of Follow to end the stream without an error.
var ErrEnough = errors.New("enough")

// Follow calls f with each event after the id; nil means from now on. It returns when ctx ends,
// when the daemon ends the stream, or when f returns an error. It returns nil if f returned
// [ErrEnough].
func (c *Client) Follow(ctx context.Context, after *uint64, f func(Event) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", c.url+"/v1/events", nil)
	if err != nil {
		return err
	}
	if after != nil {
		r.Header.Set("Last-Event-ID", strconv.FormatUint(*after, 10))
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 300)) // without the text, the status must suffice
		return fmt.Errorf("GET /v1/events: %s: %s", answer.Status, text)
	}
	err = eachEvent(answer.Body, f)
	if errors.Is(err, ErrEnough) {
		return nil
	}
	return err
}

// eachEvent reads server-sent events.
func eachEvent(in io.Reader, f func(Event) error) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	var e Event
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			if e.Kind != "" {
				if err := f(e); err != nil {
					return err
				}
			}
			e = Event{}
			continue
		}
		if err := e.addLine(line); err != nil {
			return err
		}
	}
}

// addLine adds one line of the stream to an event. It ignores comments and retry fields.
func (e *Event) addLine(line string) (err error) {
	name, value, _ := strings.Cut(line, ": ")
	switch name {
	case "id":
		e.ID, err = strconv.ParseUint(value, 10, 64)
	case "event":
		e.Kind = value
	case "data":
		e.Data += value
	}
	return err
}
