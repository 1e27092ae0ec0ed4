package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
)

// A stream writes server-sent events to one client. Its first write sends the headers. Until then,
// a problem can still be the answer. A write that fails, or that the client does not read in time,
// ends the stream and its context.
//
// Two goroutines write: one sends events, the other keeps a quiet stream open. The second ends
// before close returns.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	cancel  context.CancelFunc // ends the stream's context
	beating sync.WaitGroup

	mu     sync.Mutex // protects w and the fields below
	opened bool
	err    error // the error of the first write that failed
}

// enter takes one of the places for streams that last until a client leaves. If all are taken, it
// answers with a problem. Turns need no place, because a session has one turn at a time, and turns
// end by themselves.
func (a *api) enter(w http.ResponseWriter) (leave func(), ok bool) {
	select {
	case a.streams <- struct{}{}:
		return func() { <-a.streams }, true
	default:
		(&problem{http.StatusServiceUnavailable, fmt.Sprintf("Too many streams: at most %d at the same time.", cap(a.streams))}).write(w)
		return nil, false
	}
}

// open returns the stream of a request, and the context that ends with it. greet, if not nil,
// writes what comes before everything else.
func (a *api) open(w http.ResponseWriter, r *http.Request, greet func(*stream)) (*stream, context.Context) {
	ctx, cancel := context.WithCancel(r.Context())
	s := &stream{w: w, control: http.NewResponseController(w), cancel: cancel}
	if greet != nil {
		greet(s)
	}
	s.beating.Go(func() { s.beat(ctx, a.limits.Heartbeat) })
	return s, ctx
}

// close ends the stream. After that nothing is written. It returns the error that ended the stream
// early, or nil.
func (s *stream) close() error {
	s.cancel()
	s.beating.Wait()
	return s.err
}

// closed closes a stream, and logs an early end.
func (a *api) closed(s *stream) {
	if err := s.close(); err != nil {
		a.logger.Debug("stream cut off", "err", err)
	}
}

// beat sends comments, so that a quiet connection does not look dead, and so that a dead one is
// noticed.
func (s *stream) beat(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if s.write([]byte(": alive\n\n")) != nil {
				return // write has ended the stream
			}
		}
	}
}

// send writes one event. If it returns an error, the stream has ended.
func (s *stream) send(e Event) error {
	var b bytes.Buffer
	if e.ID != 0 {
		b.WriteString("id: " + strconv.FormatUint(e.ID, 10) + "\n")
	}
	b.WriteString("event: " + oneLine.Replace(e.Kind) + "\ndata: ")
	if json.Compact(&b, e.Data) != nil { // on an error it writes nothing
		b.WriteString(strconv.Quote("not JSON: " + excerpt.Of(string(e.Data), maxName)))
	}
	b.WriteString("\n\n")
	return s.write(b.Bytes())
}

// oneLine keeps a kind from being read as more fields. The data is on one line too, because compact
// JSON has no line breaks.
var oneLine = strings.NewReplacer("\r", " ", "\n", " ")

// fail sends a problem: as the answer, or as the last event if the answer has begun.
func (s *stream) fail(p *problem) {
	if s.answer(p) {
		return
	}
	if text, err := json.Marshal(p); err == nil { // a struct with a string can always be encoded
		_ = s.send(Event{Kind: "error", Data: text}) // the stream ends in any case
	}
}

// answer makes a problem the whole answer. It reports false if the answer has begun.
func (s *stream) answer(p *problem) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened {
		return false
	}
	s.opened = true
	s.cancel() // no comment may follow
	p.write(s.w)
	s.err = p
	return true
}

// write sends bytes immediately. After a failure it only returns the error again.
func (s *stream) write(p []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if !s.opened {
		s.opened = true
		s.w.Header().Set("Content-Type", "text/event-stream")
		s.w.Header().Set("X-Accel-Buffering", "no") // a proxy must not buffer events
	}
	if _, s.err = s.w.Write(p); s.err == nil {
		s.err = s.control.Flush()
	}
	if s.err != nil {
		s.cancel()
	}
	return s.err
}
