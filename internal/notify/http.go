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

	"github.com/patchbay-dev/patchbay/rawjson"
)

const (
	// tryTimeout bounds one try. A service that takes longer is not working.
	tryTimeout = 10 * time.Second
	// maxTries is the number of tries, the first included.
	maxTries = 3
	// firstWait is the wait after the first try. It doubles with each try.
	firstWait = time.Second
	// maxWait bounds the wait that Retry-After asks for. If the service asks for more, there is no
	// further try.
	maxWait = 10 * time.Second
	// maxAnswer bounds how much of an answer is read. The answers of the services are far shorter.
	maxAnswer = 16 << 10
)

// A ServiceError says why a service did not accept a message.
type ServiceError struct {
	Driver string
	Status int           // the HTTP status; 0: no answer
	Said   string        // the text of the service or of the network error: quoted, shortened and without secrets
	After  time.Duration // how long the service asks to wait; 0: it does not say
	Tries  int

	cause     error // the network error without the URL; nil: the service answered
	temporary bool  // another try may succeed
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
		fmt.Fprintf(&b, ", asks to wait %s", e.After)
	}
	if e.Tries > 1 {
		fmt.Fprintf(&b, " (tried %d times)", e.Tries)
	}
	return b.String()
}

// Unwrap returns the context's error if the context ended the sending. It returns no other causes,
// because they contain the URL.
func (e *ServiceError) Unwrap() error {
	for _, known := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(e.cause, known) {
			return known
		}
	}
	return nil
}

// A request is an HTTP request to a service, to be sent or to be shown.
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

// jsonPost returns a POST of v as JSON. v must consist of strings and numbers.
func jsonPost(address string, v any) request {
	text, err := rawjson.Marshal(v)
	if err != nil {
		panic("notify: " + err.Error()) // cannot happen with strings and numbers
	}
	return request{method: http.MethodPost, url: address, kind: kindJSON, body: string(text)}
}

// A remote is a notifier whose service is called over HTTP.
type remote struct {
	driver  string
	http    *http.Client
	secrets scrubber
	log     *slog.Logger
	wait    func(ctx context.Context, d time.Duration) error
	warned  sync.Once // for the warning that messages are sent unencrypted

	message func(m Message, v view) request // builds the request of the driver
	probe   request                         // the request of Reach, which sends no message
	probeOK func(status int) bool           // whether an error status still proves that the service is there; nil: no
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
			return e // the context ended, but the service's error is more useful
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

// try sends the request once. It turns every error into a *ServiceError without secrets.
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
	if err != nil && resp.StatusCode >= 300 { // with a good status the message was accepted, even if the rest of the answer is lost
		return r.sendError(err)
	}
	return r.answerError(resp, body)
}

func (q request) http(ctx context.Context) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, q.method, q.url, strings.NewReader(q.body))
	if err != nil {
		return nil, err
	}
	req.Close = true // messages are rare: keep no idle connection
	req.Header.Set("User-Agent", "patchbay")
	if q.kind != "" {
		req.Header.Set("Content-Type", q.kind)
	}
	if q.bearer != "" {
		req.Header.Set("Authorization", "Bearer "+q.bearer)
	}
	return req, nil
}

// answerError returns nil if the service accepted the message.
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

// sendError returns the error of a request without an answer. Only a failed connection is
// temporary: otherwise the service may have the message.
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

// answerText returns the text of a service's answer, and whether the service refuses in spite of a
// good status. Slack answers in plain text, ntfy with error, Pushover with status and errors,
// Telegram with ok and description.
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

// retryAfter returns how long a service asks to wait: in the Retry-After header, as seconds or as a
// date, or in Telegram's parameters.retry_after.
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

// seconds converts a number of seconds from a service. It is limited to a day, because a larger
// number could overflow.
func seconds(n int) time.Duration {
	return time.Duration(min(max(n, 0), 24*60*60)) * time.Second
}

// formLines formats a form for people, one field on each line.
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

// client returns a copy of c, or of a default client, that follows a redirect only to the same host
// and with the same method. Otherwise the message and its token would go to another host, or a GET
// without the message would count as sent.
func client(c *http.Client) *http.Client {
	var own http.Client
	if c != nil {
		own = *c
	}
	own.CheckRedirect = func(to *http.Request, via []*http.Request) error {
		from := via[0]
		switch {
		case from.Method == http.MethodHead: // a probe: any answer proves that the host is there
			return http.ErrUseLastResponse
		case to.URL.Host != from.URL.Host:
			return fmt.Errorf("redirected to another host, %.100q, which is not followed", to.URL.Host)
		case from.URL.Scheme == "https" && to.URL.Scheme != "https":
			return errors.New("redirected to plain HTTP, which is not followed")
		case to.Method != from.Method:
			return errors.New("redirected with another method, which would lose the message: check the address")
		case len(via) >= maxTries:
			return errors.New("redirected too often")
		}
		return nil
	}
	return &own
}
