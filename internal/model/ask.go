package model

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// userAgent is our name in requests to providers.
const userAgent = "patchbay"

// try sends one request and fills the reply. It runs on the calling goroutine. The watch can end
// it.
func (m *remote) try(p *prepared, r *reply, w *watch) error {
	req, err := m.request(w.ctx, p)
	if err != nil {
		return &unsendableError{err}
	}
	resp, err := m.at.client.Do(req)
	if err != nil {
		return err
	}
	resp.Body = &watchedBody{ReadCloser: resp.Body, watch: w, left: maxReplyBytes}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return readError(resp)
	}
	if err := notStream(resp); err != nil {
		return err
	}
	return m.readEvents(resp, r)
}

// request returns the HTTP request for a reply. Go's transport adds Accept-Encoding, and
// decompresses the answer.
func (m *remote) request(ctx context.Context, p *prepared) (*http.Request, error) {
	body, err := rawjson.Marshal(m.provider.body(p))
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.at.base+m.provider.path(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json") // as the providers' own clients do; the answer is a stream nevertheless
	req.Header.Set("User-Agent", userAgent)
	m.provider.sign(req.Header, m.at.key)
	return req, nil
}

// doneMark ends a stream of OpenAI, and of some proxies for other providers.
var doneMark = []byte("[DONE]")

// readEvents reads events until the reply is complete or the stream ends.
func (m *remote) readEvents(resp *http.Response, r *reply) error {
	events := newEventReader(resp.Body)
	for heard := 0; ; heard++ {
		e, err := events.next()
		switch {
		case errors.Is(err, io.EOF) && heard == 0:
			return noEvents(resp)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case bytes.HasPrefix(e.data, doneMark):
			return nil
		}
		if err := m.provider.addEvent(e, r); err != nil || r.closed {
			return err
		}
	}
}

// An unsendableError is a request that could not be made. Trying again would not help.
type unsendableError struct{ cause error }

func (e *unsendableError) Error() string {
	return fmt.Sprintf("cannot make the request: %v", e.cause)
}
func (e *unsendableError) Unwrap() error { return e.cause }
