package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/pause"
)

// The limits of an export.
const (
	maxBatch  = 512 // spans in one request, as in OpenTelemetry's batch processor
	maxTries  = 4
	firstWait = 500 * time.Millisecond // doubles after each try, unless the collector says how long to wait
	maxWait   = 30 * time.Second
	maxAnswer = 64 << 10
)

// A Client sends spans to one collector.
type Client struct {
	config Config
	http   http.Client
	wait   time.Duration // before the second try

	patient bool // try again also if the collector cannot be reached: no caller waits for the result
}

// NewClient makes a client. It does not connect yet.
func NewClient(c Config) *Client {
	return &Client{config: c, wait: firstWait, http: http.Client{
		// Collectors do not redirect, and headers with a key must not go to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// A Sent is the result of an export.
type Sent struct {
	Spans    int    // accepted by the collector
	Rejected int    // refused by the collector although it accepted the others
	Message  string // the collector's text about the rejected spans
}

// Send sends spans in batches. It stops at the first batch that was not accepted, and returns the
// error of that batch. The batches before it were accepted, and the result counts their spans.
func (c *Client) Send(ctx context.Context, spans []Span) (Sent, error) {
	var sent Sent
	for len(spans) > 0 {
		batch := spans[:min(len(spans), maxBatch)]
		spans = spans[len(batch):]
		body, err := Encode(c.config.Resource, batch)
		if err != nil {
			return sent, err
		}
		answer, err := c.deliver(ctx, body)
		if err != nil {
			return sent, fmt.Errorf("collector %s: %w", c.config.URL.Redacted(), err)
		}
		rejected := min(answer.rejected(), len(batch))
		sent.Spans += len(batch) - rejected
		sent.Rejected += rejected
		if answer.Partial.Message != "" {
			sent.Message = excerpt.Of(answer.Partial.Message, maxText)
		}
	}
	return sent, nil
}

// deliver sends one request, and repeats it after errors that may pass.
func (c *Client) deliver(ctx context.Context, body []byte) (answerJSON, error) {
	if c.config.Gzip {
		body = compressed(body)
	}
	wait := c.wait
	for try := 1; ; try++ {
		answer, err := c.post(ctx, body)
		later, again := errors.AsType[*laterError](err)
		if !again || try == maxTries || ctx.Err() != nil {
			return answer, err
		}
		if later.after > 0 {
			wait = later.after
		}
		if pause.For(ctx, min(wait, maxWait)) != nil {
			return answer, err
		}
		wait *= 2
	}
}

func compressed(body []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(body) // a buffer accepts everything
	_ = w.Close()
	return b.Bytes()
}

// A laterError is an error after which the request may be repeated.
type laterError struct {
	after time.Duration // the pause that the collector asks for; 0: none
	err   error
}

func (e *laterError) Error() string { return e.err.Error() }
func (e *laterError) Unwrap() error { return e.err }

// post makes one request.
func (c *Client) post(ctx context.Context, body []byte) (answerJSON, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.config.URL.String(), bytes.NewReader(body))
	if err != nil {
		return answerJSON{}, err
	}
	for name, values := range c.config.Headers {
		r.Header[name] = values
	}
	r.Header.Set("Content-Type", "application/json")
	if c.config.Gzip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return answerJSON{}, c.unreached(unwrapURL(err))
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return answerJSON{}, c.unreached(err)
	}
	return readAnswer(resp, text)
}

// unreached returns the error for a collector that did not answer.
func (c *Client) unreached(err error) error {
	if c.patient {
		return &laterError{err: err}
	}
	return err
}

// unwrapURL removes the address, which may contain a password, from an error.
func unwrapURL(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// answerJSON is an ExportTraceServiceResponse.
type answerJSON struct {
	Partial struct {
		Rejected json.RawMessage `json:"rejectedSpans"` // a number in a string, or a number
		Message  string          `json:"errorMessage"`
	} `json:"partialSuccess"`
}

func (a *answerJSON) rejected() int {
	n, err := strconv.Atoi(string(bytes.Trim(a.Partial.Rejected, `"`)))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// readAnswer returns an error if a request was not accepted. The OTLP specification lists the
// statuses after which it may be repeated.
func readAnswer(resp *http.Response, text []byte) (answerJSON, error) {
	var answer answerJSON
	if resp.StatusCode/100 == 2 {
		_ = json.Unmarshal(text, &answer) // accepted; an unreadable answer changes nothing
		return answer, nil
	}
	err := fmt.Errorf("it answered %s: %s", resp.Status, excerpt.Of(bytes.TrimSpace(text), 200))
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return answer, &laterError{retryAfter(resp.Header.Get("Retry-After"), time.Now()), err}
	}
	return answer, err
}

// retryAfter parses a number of seconds, or a date.
func retryAfter(text string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(text); err == nil && n >= 0 {
		return time.Duration(min(n, int(maxWait/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
