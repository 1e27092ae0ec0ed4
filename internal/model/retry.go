package model

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/pause"
)

const (
	// maxTries limits how often a reply is requested. The pauses between the tries take at most 15
	// seconds together, unless the server says how long to wait.
	maxTries = 5
	// firstWait doubles with every try.
	firstWait = time.Second
	// maxWait limits the pause that a server can request with Retry-After.
	maxWait = time.Minute
)

// A provider knows the formats of one kind of server. It has no state.
type provider interface {
	// path returns the path of requests below the base URL.
	path() string
	// sign adds the headers that the provider requires, with the key.
	sign(h http.Header, key config.Secret)
	// body returns the body of a request, to be encoded as JSON.
	body(p *prepared) any
	// addEvent adds one event of the stream to the reply. An error that the server sent as an event
	// is an [*answeredError].
	addEvent(e event, r *reply) error
	// decodeError decodes the body of an error.
	decodeError(body []byte) refusal
}

// A remote is a model behind HTTP. It has the code that all providers share.
type remote struct {
	info     Info
	at       endpoint
	provider provider
	idle     time.Duration
	output   int // tokens of a reply, if the request has no limit
	log      *slog.Logger

	wait func(ctx context.Context, d time.Duration) error // between tries; tests do not wait
}

func openRemote(c Config, s site, speak func(endpoint, string) provider) (Model, error) {
	if c.Name == "" {
		return nil, &Error{Provider: c.Provider, Message: "no name",
			Fix: "write its name under [model] in config.toml, or --model " + c.Provider + ":NAME"}
	}
	at, err := s.resolve(c)
	if err != nil {
		return nil, err
	}
	limits := limitsOf(c)
	return &remote{
		info: Info{Provider: c.Provider, Name: c.Name, Window: limits.window},
		at:   at, provider: speak(at, c.Name), idle: c.Idle, output: limits.output, log: c.Logger, wait: pause.For,
	}, nil
}

func (m *remote) Info() Info { return m.info }

func (m *remote) Reply(ctx context.Context, req *Request, stream func(Delta)) (*Response, error) {
	p, err := prepare(req, m.at.official && m.info.Provider == ProviderOpenAI)
	if err != nil {
		return nil, &Error{Provider: m.info.Provider, Message: err.Error(), cause: err}
	}
	if p.maxTokens == 0 {
		p.maxTokens = m.output
	}
	if stream == nil {
		stream = func(Delta) {}
	}
	for try := 1; ; try++ {
		r := newReply(p, stream)
		failed := m.once(ctx, p, r)
		if failed == nil {
			return r.response(), nil
		}
		failed.Tries = try
		if !failed.passing || try == maxTries || ctx.Err() != nil {
			return nil, failed
		}
		if err := m.pause(ctx, failed, stream); err != nil {
			return nil, m.cancelled(err)
		}
	}
}

// pause announces another try and waits.
func (m *remote) pause(ctx context.Context, failed *Error, stream func(Delta)) error {
	after := backoff(failed.Tries)
	if failed.after > 0 {
		after = min(failed.after, maxWait)
	}
	m.log.InfoContext(ctx, "asking the model again", "dur", after, "err", failed)
	stream(Delta{Retry: &Retry{Attempt: failed.Tries + 1, After: after, Err: failed}})
	return m.wait(ctx, after)
}

// once makes one try, and turns every error into an [*Error].
func (m *remote) once(ctx context.Context, p *prepared, r *reply) *Error {
	w := newWatch(ctx, m.idle)
	defer w.stop()
	err := m.try(p, r, w)
	if err == nil {
		err = errCut
	}
	switch cause := w.cause(); {
	case ctx.Err() != nil:
		return m.cancelled(ctx.Err())
	case r.ended: // errors after the end do not matter
		return nil
	case cause != nil: // the watch ended the request: the error of net/http only follows from that
		return &Error{Provider: m.info.Provider, Message: cause.Error(), cause: cause}
	}
	if said, ok := m.refusalOf(err); ok {
		return m.at.refused(m.info.Name, said)
	}
	return m.transportError(err)
}

// refusalOf returns the error that the server sent. ok is false if the error did not come from the
// server.
func (m *remote) refusalOf(err error) (said refusal, ok bool) {
	var answer *answeredError
	if !errors.As(err, &answer) {
		return refusal{}, false
	}
	r := m.provider.decodeError(answer.body)
	if answer.status != 0 {
		r.status, r.header = answer.status, answer.header
	}
	return r, true
}

func (m *remote) cancelled(err error) *Error {
	return &Error{Provider: m.info.Provider, Message: "cancelled: " + err.Error(), cause: err}
}

var errCut = errors.New("the stream ended before the reply was complete")

// transportError turns an error of the connection into an [*Error]. Most of them may pass, but not
// a wrong address.
func (m *remote) transportError(err error) *Error {
	e := &Error{Provider: m.info.Provider, Message: cut(printable(m.at.scrub(err.Error()))), passing: true}
	var (
		dial     *net.OpError
		redirect *redirectError
		page     *notStreamError
		unsent   *unsendableError
		dns      *net.DNSError
		unknown  x509.UnknownAuthorityError
		misnamed x509.HostnameError
		invalid  x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &redirect), errors.As(err, &page):
		e.passing, e.Fix = false, "is the base URL "+m.at.base+" right?"
	case errors.As(err, &dns) && dns.IsNotFound:
		e.passing, e.Fix = false, "is the base URL "+m.at.base+" right?"
	case errors.As(err, &unknown), errors.As(err, &misnamed), errors.As(err, &invalid),
		errors.As(err, &unsent), errors.Is(err, errManyCalls), errors.Is(err, errBigEvent):
		e.passing = false
	case errors.As(err, &dial) && dial.Op == "dial":
		e.Fix = "does a server listen at " + m.at.base + "?"
	}
	return e
}

// backoff returns the pause after this many tries. It is random, so that many clients do not try
// again at the same moment: at most firstWait, doubled with every try, and at least half of that.
func backoff(tries int) time.Duration {
	full := firstWait << min(tries-1, 5)
	return full/2 + rand.N(full/2)
}

// retryAfter decodes the header Retry-After: seconds or a date. Both providers also send the more
// exact Retry-After-Ms.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return time.Duration(min(ms, float64(maxWait.Milliseconds()))) * time.Millisecond
	}
	text := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(text, 64); err == nil && s > 0 {
		return time.Duration(min(s, maxWait.Seconds()) * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}
