package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// tryTimeout bounds one try. A notification that takes longer is not going to be one.
	tryTimeout = 10 * time.Second
	// maxTries is the first and two more.
	maxTries = 3
	// firstWait is doubled with each try.
	firstWait = time.Second
	// maxWait is how long a service is waited for with Retry-After. One that wants more will not be
	// ready after it, and is not asked again.
	maxWait = 10 * time.Second
	// maxAnswer bounds what is read of an answer. What the services say fits many times.
	maxAnswer = 16 << 10
)

// A ServiceError says why a service did not take a message.
type ServiceError struct {
	Driver string
	Status int           // of HTTP; 0: no answer came
	Said   string        // the service's words, or what went wrong on the way: quoted, cut and without secrets
	After  time.Duration // how long it wants to be left alone; 0: it does not say
	Tries  int

	cause     error // what went wrong on the way, less the URL; nil: the service spoke
	temporary bool  // another try may go better
}

func (e *ServiceError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "notifier %s: ", e.Driver)
	if e.Status != 0 {
		fmt.Fprintf(&b, "%d %s", e.Status, strings.ToLower(http.StatusText(e.Status)))
	} else {
		b.WriteString("no answer")
	}
	if e.Said != "" {
		b.WriteString(": " + e.Said)
	}
	if e.After > 0 {
		fmt.Fprintf(&b, ", wants to be left alone for %s", e.After)
	}
	if e.Tries > 1 {
		fmt.Fprintf(&b, " (tried %d times)", e.Tries)
	}
	return b.String()
}

// Unwrap is a context's error where one ended the sending. Other causes stay inside: they name the
// URL.
func (e *ServiceError) Unwrap() error {
	for _, known := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(e.cause, known) {
			return known
		}
	}
	return nil
}

// A request is what is sent to a service, or shown of it.
type request struct {
	method string
	url    string
	bearer string // "": none
	kind   string // of the body
	body   string
}

const (
	kindJSON = "application/json"
	kindForm = "application/x-www-form-urlencoded"
)

// jsonPost is a POST of a value that is made of texts and numbers alone.
func jsonPost(address string, v any) request {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("notify: " + err.Error()) // no text and no number fails to be written
	}
	return request{method: http.MethodPost, url: address, kind: kindJSON, body: strings.TrimSuffix(b.String(), "\n")}
}

// A remote is a notifier whose service is asked over HTTP.
type remote struct {
	driver  string
	http    *http.Client
	secrets scrubber
	log     *slog.Logger
	wait    func(ctx context.Context, d time.Duration) error
	warned  sync.Once // of what can be read on the way

	message func(m Message, v view) request // the one thing that drivers differ in
	probe   request                         // asks for nothing to be sent
	probeOK func(status int) bool           // whether an answer to probe is a good sign; nil: as for a message
}

func newRemote(s *settings, o Options) *remote {
	return &remote{driver: s.driver, http: client(o.HTTP), secrets: s.scrubber(), log: o.Logger, wait: o.wait}
}

func (r *remote) Send(ctx context.Context, m Message) error {
	req := r.message(m, revealed)
	if unencrypted(req.url) {
		r.warned.Do(func() { r.log.WarnContext(ctx, "notifications are sent unencrypted", "notifier", r.driver) })
	}
	for try := 1; ; try++ {
		e := r.try(ctx, req)
		if e == nil {
			return nil
		}
		e.Tries = try
		if !e.temporary || try == maxTries || e.After > maxWait {
			return e
		}
		after := firstWait << (try - 1)
		if e.After > 0 {
			after = e.After
		}
		if r.wait(ctx, after) != nil {
			return e // the context ended: what the service said tells more
		}
	}
}

func (r *remote) Describe(m Message) Preview {
	req := r.message(m, masked)
	body := req.body
	if req.kind == kindForm {
		body = formLines(body)
	}
	p := Preview{Driver: r.driver, Method: req.method, Address: req.url, Body: body}
	if unencrypted(r.message(m, revealed).url) {
		p.Notes = []string{"sent unencrypted: the address is http"}
	}
	return p
}

func (r *remote) Reach(ctx context.Context) error {
	e := r.try(ctx, r.probe)
	if e == nil || e.Status != 0 && r.probeOK != nil && r.probeOK(e.Status) {
		return nil
	}
	e.Tries = 1
	return e
}

// try asks once. Whatever goes wrong becomes a *ServiceError here, without secrets.
func (r *remote) try(ctx context.Context, q request) *ServiceError {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	req, err := q.http(ctx)
	if err != nil {
		return r.sendError(err)
	}
	resp, err := r.http.Do(req)
	if err != nil {
		return r.sendError(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil && resp.StatusCode >= 300 { // what was taken is taken, whether we hear the end of it or not
		return r.sendError(err)
	}
	return r.answerError(resp, body)
}

func (q request) http(ctx context.Context) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, q.method, q.url, strings.NewReader(q.body))
	if err != nil {
		return nil, err
	}
	req.Close = true // messages are rare: no connection is kept waiting for the next
	req.Header.Set("User-Agent", "patchbay")
	if q.kind != "" {
		req.Header.Set("Content-Type", q.kind)
	}
	if q.bearer != "" {
		req.Header.Set("Authorization", "Bearer "+q.bearer)
	}
	return req, nil
}

// answerError is nil where the service took the message.
func (r *remote) answerError(resp *http.Response, body []byte) *ServiceError {
	said, refused := answerText(body)
	if resp.StatusCode >= 200 && resp.StatusCode < 300 && !refused {
		return nil
	}
	e := &ServiceError{Driver: r.driver, Status: resp.StatusCode, After: retryAfter(resp.Header, body)}
	if said != "" {
		e.Said = r.secrets.scrub(said)
	}
	e.temporary = resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500
	return e
}

// sendError is an error on the way. It may pass only where the service was not reached: else it may
// have the message.
func (r *remote) sendError(err error) *ServiceError {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // without the URL, which may be the secret
	}
	e := &ServiceError{Driver: r.driver, cause: err}
	dial, ok := errors.AsType[*net.OpError](err)
	e.temporary = ok && dial.Op == "dial"
	if errors.Is(err, context.DeadlineExceeded) {
		e.Said = "it took too long"
		return e
	}
	e.Said = r.secrets.scrub(err.Error())
	return e
}

// answerText are what a service says in its answer, and whether it refuses in spite of a good
// status. Slack answers in plain text, ntfy with error, Pushover with status and errors, Telegram
// with ok and description.
func answerText(body []byte) (said string, refused bool) {
	var answer struct {
		OK          *bool    `json:"ok"`
		Status      *int     `json:"status"`
		Error       string   `json:"error"`
		Errors      []string `json:"errors"`
		Description string   `json:"description"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return string(body), false
	}
	refused = answer.OK != nil && !*answer.OK || answer.Status != nil && *answer.Status == 0
	for _, s := range append([]string{answer.Description, answer.Error}, strings.Join(answer.Errors, ", ")) {
		if s != "" {
			return s, refused
		}
	}
	return string(body), refused
}

// retryAfter is how long a service wants to be left alone: by the header of that name, in seconds
// or as a date, or by Telegram's parameters.retry_after.
func retryAfter(h http.Header, body []byte) time.Duration {
	header := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.Atoi(header); err == nil {
		return seconds(s)
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(time.Until(at), 0).Round(time.Second)
	}
	var answer struct {
		Parameters struct {
			RetryAfter int `json:"retry_after"`
		} `json:"parameters"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return 0
	}
	return seconds(answer.Parameters.RetryAfter)
}

// seconds is a foreign number of them, less than a day: more would overflow, and means never all
// the same.
func seconds(n int) time.Duration {
	return time.Duration(min(max(n, 0), 24*60*60)) * time.Second
}

// formLines is a form as a person reads it, one field a line.
func formLines(form string) string {
	var lines []string
	for field := range strings.SplitSeq(form, "&") {
		if plain, err := url.QueryUnescape(field); err == nil {
			field = plain
		}
		lines = append(lines, field)
	}
	return strings.Join(lines, "\n")
}

// client is c, or a plain one, that follows a redirect only where it stays with the same host and
// is still the same request. Elsewhere the message and its token would go to a stranger, or a GET
// without a message would pass for it.
func client(c *http.Client) *http.Client {
	var own http.Client
	if c != nil {
		own = *c
	}
	own.CheckRedirect = func(to *http.Request, via []*http.Request) error {
		from := via[0]
		switch {
		case from.Method == http.MethodHead: // asked whether somebody is there: somebody is
			return http.ErrUseLastResponse
		case to.URL.Host != from.URL.Host:
			return fmt.Errorf("redirected to another host, %.100q, which is not followed", to.URL.Host)
		case from.URL.Scheme == "https" && to.URL.Scheme != "https":
			return errors.New("redirected to plain HTTP, which is not followed")
		case to.Method != from.Method:
			return errors.New("redirected so that the message would be lost: is the address right?")
		case len(via) >= maxTries:
			return errors.New("redirected too often")
		}
		return nil
	}
	return &own
}
