package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"
)

const (
	// maxReplyBytes bounds what a server may send for one reply. The longest replies
	// of today's models are a million tokens, and an event is about 150 bytes each.
	maxReplyBytes = 256 << 20
	// maxReplyTime bounds a reply that drips on for ever. The providers end requests
	// themselves after ten to thirty minutes.
	maxReplyTime = time.Hour
)

var (
	errEndless = fmt.Errorf("the reply did not end within %s", maxReplyTime)
	errHuge    = fmt.Errorf("the reply has more than %d MiB", maxReplyBytes>>20)
)

// A watch ends a request that has stopped, that never ends or that brings too
// much. It looks at the bytes of the response rather than at the events, of which
// the SDKs keep some (pings) to themselves.
type watch struct {
	ctx    context.Context // of the request
	cancel context.CancelCauseFunc
	idle   time.Duration
	quiet  *time.Timer // ends the request when nothing came
	whole  *time.Timer // ends the request when it takes too long
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

// cause is why the watch ended the request; nil: it did not.
func (w *watch) cause() error {
	switch err := context.Cause(w.ctx); {
	case errors.Is(err, ErrIdle), errors.Is(err, errEndless), errors.Is(err, errHuge):
		return err
	}
	return nil
}

// middleware is for the SDKs: it puts the watch on the body of the response, and
// takes refusals out of their hands. They make errors of them that hold the request
// with its key, and one loses the status of a body that it does not understand.
func (w *watch) middleware(r *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	resp, err := next(r)
	if err != nil {
		return resp, err
	}
	resp.Body = &watchedBody{ReadCloser: resp.Body, watch: w, left: maxReplyBytes}
	if resp.StatusCode >= http.StatusBadRequest {
		return nil, answered(resp)
	}
	if err := notStream(resp); err != nil {
		return nil, err
	}
	return resp, nil
}

// A watchedBody tells its watch of every byte. It is read by one goroutine.
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

// An answeredError is an HTTP response that is an error.
type answeredError struct {
	status int
	header http.Header
	body   []byte // its beginning
}

func (e *answeredError) Error() string { return "the server answered with an error" } // see endpoint.refused

// maxErrorBytes bounds what is read of an error: messages have a few hundred bytes.
const maxErrorBytes = 64 << 10

// answered reads an error; what it says is worth less than its status, and may be
// missing.
func answered(resp *http.Response) error {
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBytes))
	if err != nil && len(body) == 0 {
		body = []byte(err.Error())
	}
	return &answeredError{status: resp.StatusCode, header: resp.Header, body: body}
}

// notStream catches what is no model server: a page, or a JSON answer of another
// kind, with a status that says all is well. The SDKs would find no event in it.
func notStream(resp *http.Response) error {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		kind = "" // a server that does not say what it sends may still send events
	}
	if kind != "text/html" && kind != "application/json" {
		return nil
	}
	defer resp.Body.Close()
	begin, err := io.ReadAll(io.LimitReader(resp.Body, maxForeign))
	if err != nil {
		return err
	}
	return &notStreamError{kind: kind, begin: string(begin)}
}

// A notStreamError is an answer that is no stream of events.
type notStreamError struct{ kind, begin string }

func (e *notStreamError) Error() string {
	return fmt.Sprintf("the server answered with %s rather than a stream: %q", e.kind, e.begin)
}
