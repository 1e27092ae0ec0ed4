package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/mcpcall"
	"github.com/patchbay-dev/patchbay/internal/pause"
	"github.com/patchbay-dev/patchbay/internal/wire"
	"github.com/patchbay-dev/patchbay/rawjson"
)

const (
	leastWait = time.Second      // the pause before a server that could not be reached is tried again
	mostWait  = 30 * time.Second // the longest such pause
	byeTime   = 2 * time.Second  // for telling a server that a session is over
	resumes   = 10               // how often the stream of one answer is resumed
)

// The HTTP statuses that this package looks at.
const (
	statusOK           = 200
	statusUnauthorized = 401
	statusForbidden    = 403
	statusNotFound     = 404
)

// errLost means that a server has forgotten a session.
var errLost = errors.New("the server has forgotten the session")

// An address is the connection to a server that is called over HTTP. It is opened again if it was
// lost, after pauses that grow.
type address struct {
	plugin *plugin
	only   *era
	client mcpcall.Client

	opening sync.Mutex // held while a connection is opened; locked before mu

	mu       sync.Mutex // protects the fields below
	link     *link      // nil: none
	err      error      // why there is no link
	after    time.Time  // when the next try is allowed
	wait     time.Duration
	restarts int
	closed   bool
}

// openWeb connects to an address for the first time.
func (p *plugin) openWeb(ctx context.Context, only *era) (connection, error) {
	a := &address{plugin: p, only: only, client: p.remote()}
	if _, err := a.get(ctx); err != nil {
		a.client.Close()
		return nil, err
	}
	return a, nil
}

// get returns the connection, and opens one if there is none.
func (a *address) get(ctx context.Context) (*link, error) {
	if l, err := a.current(); l != nil || err != nil {
		return l, err
	}
	a.opening.Lock()
	defer a.opening.Unlock()
	if l, err := a.current(); l != nil || err != nil {
		return l, err // another call has opened one meanwhile, or has failed to
	}
	return a.open(ctx)
}

// current returns the open connection, or an error if no connection may be opened now. It returns
// nil and nil if a connection should be opened.
func (a *address) current() (*link, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return nil, closing()
	case a.link == nil && time.Now().Before(a.after):
		return nil, hook.Failure(hook.Unavailable, fmt.Errorf("it cannot be reached, and is tried again in a moment: %w", a.err))
	}
	return a.link, nil
}

// closing returns the failure of calls to a plugin that is being closed.
func closing() error {
	return hook.Failure(hook.Unavailable, errors.New("it is being shut down"))
}

// open opens a connection. The caller holds opening.
func (a *address) open(ctx context.Context) (*link, error) {
	l := &link{owner: a.plugin}
	w := &web{address: a, link: l}
	l.carrier = w
	w.ctx, w.end = context.WithCancel(a.plugin.ctx)
	err := l.negotiate(ctx, a.only)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err != nil:
		w.end()
		a.wait = min(max(leastWait, 2*a.wait), mostWait)
		a.err, a.after = err, time.Now().Add(a.wait)
		return nil, failure(err)
	case a.closed:
		w.end()
		return nil, closing()
	}
	if a.err != nil {
		a.restarts++
		a.plugin.spawn(a.plugin.relist)
	}
	a.link, a.err, a.wait = l, nil, 0
	w.open.Store(true)
	if l.era == handshake {
		a.plugin.spawn(w.listen)
	}
	return l, nil
}

// lose drops a connection. The next call opens another.
func (a *address) lose(l *link, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.link == l {
		l.carrier.(*web).end()
		a.link, a.err = nil, err
	}
}

func (a *address) status() dialect.Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	st := dialect.Status{Restarts: a.restarts, Health: "ok"}
	if a.link == nil {
		st.Health, st.Err = dialect.HealthFailing, a.err
	}
	return st
}

// close tells the server that its session is over.
func (a *address) close(ctx context.Context) {
	a.mu.Lock()
	l := a.link
	a.link, a.closed = nil, true
	a.mu.Unlock()
	if l == nil {
		a.client.Close()
		return
	}
	w := l.carrier.(*web)
	w.end()
	if session, ok := w.session.Load().(string); ok && session != "" {
		ctx, cancel := context.WithTimeout(ctx, byeTime)
		defer cancel()
		if resp, err := a.client.Do(ctx, w.request("DELETE", nil)); err == nil { // a server that does not answer forgets the session by itself
			resp.Body.Close()
		}
	}
	a.client.Close()
}

// A web carries messages over HTTP. Each request is one POST, whose answer is a message or a stream
// of messages.
type web struct {
	address *address
	link    *link
	session atomic.Value // a string, once the server has sent one
	last    atomic.Int64 // id of the last request
	open    atomic.Bool  // the handshake is over
	ctx     context.Context
	end     context.CancelFunc
}

// A message is one JSON-RPC message.
type message struct {
	id, params, result json.RawMessage
	method             string
	err                *wire.RPCError
}

func (w *web) most() int { return w.address.plugin.rt.Most(maxMessage) }

func (w *web) send(ctx context.Context, method string, params json.RawMessage, c *pending) (json.RawMessage, error) {
	id := fmt.Sprint(w.last.Add(1))
	body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%s,"params":%s}`, id, rawjson.String(method), params)
	resp, err := w.post(ctx, body, method, params)
	if err != nil {
		return nil, w.lost(ctx, err)
	}
	defer resp.Body.Close()
	if session := resp.Header("Mcp-Session-Id"); session != "" && method == "initialize" {
		w.session.Store(session)
	}
	m, err := w.answer(ctx, resp, id, c)
	if err != nil {
		if ctx.Err() != nil {
			w.cancelled(id, method)
		}
		return nil, w.lost(ctx, err)
	}
	if m.err != nil {
		return nil, hook.Failure(hook.Refused, m.err)
	}
	return m.result, nil
}

// lost turns an error into a [hook.Error], and drops the connection if the session is lost.
func (w *web) lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("no reply: %w", ctx.Err())
	}
	if errors.Is(err, errLost) && w.open.Load() {
		w.address.lose(w.link, err)
		return err
	}
	return failure(err)
}

// failure turns an error of HTTP into a [hook.Error].
func failure(err error) error {
	if _, ok := errors.AsType[*hook.Error](err); ok {
		return err
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, wire.ErrTooLarge):
		return hook.Failure(hook.TooLarge, err)
	}
	return hook.Failure(hook.Unavailable, err)
}

// cancelled tells the server that a call was given up. For a modern server the end of the stream
// says so.
func (w *web) cancelled(id, method string) {
	if w.link.era == modern || method == "initialize" {
		return
	}
	w.address.plugin.spawn(func() {
		_ = w.notify(w.ctx, "notifications/cancelled", fmt.Appendf(nil, `{"requestId":%s,"reason":"the caller no longer waits"}`, id))
	})
}

func (w *web) notify(ctx context.Context, method string, params json.RawMessage) error {
	return w.deliver(ctx, fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%s,"params":%s}`, rawjson.String(method), params), method)
}

// deliver sends a message without an answer.
func (w *web) deliver(ctx context.Context, body []byte, method string) error {
	resp, err := w.post(ctx, body, method, nil)
	if err != nil {
		return failure(err)
	}
	return resp.Body.Close()
}

// post makes one request. Any status but 2xx is an error.
func (w *web) post(ctx context.Context, body []byte, method string, params json.RawMessage) (*mcpcall.Response, error) {
	req := w.request("POST", body)
	req.Header["Content-Type"] = "application/json"
	req.Header["Accept"] = "application/json, text/event-stream"
	if w.link.era == modern {
		w.modernHeader(req.Header, method, params)
	}
	resp, err := w.address.client.Do(ctx, req)
	if err != nil {
		return nil, err
	}
	if resp.Status/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, w.refusal(resp)
}

// request returns a request with the headers that all requests have.
func (w *web) request(method string, body []byte) mcpcall.Request {
	req := mcpcall.Request{Method: method, URL: w.address.plugin.server.URL, Header: make(map[string]string), Body: body}
	for name, value := range w.address.plugin.server.Headers {
		req.Header[name] = value()
	}
	if session, ok := w.session.Load().(string); ok {
		req.Header["Mcp-Session-Id"] = session
	}
	if w.link.version != "" {
		req.Header["MCP-Protocol-Version"] = w.link.version
	}
	return req
}

// refusal returns why a server refused a request. The body may be a JSON-RPC error.
func (w *web) refusal(resp *mcpcall.Response) error {
	if resp.Status == statusNotFound && w.session.Load() != nil {
		return errLost
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // the part that was read is enough
	if m, err := readMessage(body); err == nil && m.err != nil {
		return hook.Failure(hook.Refused, m.err)
	}
	err := fmt.Errorf("the server answers %d: %q", resp.Status, excerpt.Of(string(body), shown))
	switch resp.Status {
	case statusUnauthorized, statusForbidden:
		return dialect.WithFix(err, "write what it wants into headers of its [[mcp]] table, such as Authorization = \"Bearer ${TOKEN}\", and TOKEN into secrets.toml")
	}
	return err
}

// answer reads the answer to a request: a message, or a stream that contains it. A stream that ends
// too early is resumed if the server supports that.
func (w *web) answer(ctx context.Context, resp *mcpcall.Response, id string, c *pending) (message, error) {
	kind, _, _ := strings.Cut(resp.Header("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(kind), "text/event-stream") {
		body, err := io.ReadAll(io.LimitReader(resp.Body, int64(w.most())+1))
		if err == nil && len(body) > w.most() {
			err = fmt.Errorf("%w: more than %d bytes", wire.ErrTooLarge, w.most())
		}
		if err != nil {
			return message{}, err
		}
		m, err := readMessage(body)
		if err != nil || string(m.id) != id {
			return message{}, garbled("a request", body)
		}
		return m, nil
	}
	stream := newEvents(resp.Body, w.most())
	for range resumes {
		m, found, err := w.follow(stream, id, c)
		if found || err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return m, err
		}
		if stream.id == "" {
			return message{}, errors.New("the stream ended before the answer")
		}
		next, err := w.resume(ctx, stream)
		if err != nil {
			return message{}, err
		}
		defer next.Body.Close()
		id2, retry := stream.id, stream.retry
		stream = newEvents(next.Body, w.most())
		stream.id, stream.retry = id2, retry
	}
	return message{}, errors.New("the stream ended before the answer, again and again")
}

// resume requests the rest of a stream.
func (w *web) resume(ctx context.Context, stream *events) (*mcpcall.Response, error) {
	if err := pause.For(ctx, max(stream.retry, 10*time.Millisecond)); err != nil {
		return nil, err
	}
	return w.stream(ctx, stream.id)
}

// stream requests a stream of events.
func (w *web) stream(ctx context.Context, after string) (*mcpcall.Response, error) {
	req := w.request("GET", nil)
	req.Header["Accept"] = "text/event-stream"
	if after != "" {
		req.Header["Last-Event-ID"] = after
	}
	resp, err := w.address.client.Do(ctx, req)
	if err != nil {
		return nil, err
	}
	if resp.Status != statusOK {
		defer resp.Body.Close()
		return nil, w.refusal(resp)
	}
	return resp, nil
}

// follow reads a stream until the answer to a request, or to its end. With the id "" there is no
// answer to wait for.
func (w *web) follow(stream *events, id string, c *pending) (answer message, found bool, err error) {
	for {
		e, err := stream.next()
		if err != nil {
			return message{}, false, err
		}
		m, err := readMessage(e.data)
		switch {
		case err != nil:
			w.address.plugin.noise.Take(wire.Noise{Kind: wire.NoiseGarbage, Line: excerpt.Of(string(e.data), shown), Why: err.Error()})
		case m.method == "" && id != "" && string(m.id) == id:
			return m, true, nil
		case m.method != "" && m.id == nil:
			w.address.plugin.receiveNotification(w.link, m.method, m.params, c)
		case m.method != "":
			w.address.plugin.spawn(func() { w.reply(m, c) })
		}
	}
}

// reply answers a request of the server.
func (w *web) reply(m message, c *pending) {
	result, err := w.address.plugin.asked(w.ctx, w.link, m.method, m.params, c)
	body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.id, result)
	if err != nil {
		rpc, ok := errors.AsType[*wire.RPCError](err)
		if !ok {
			rpc = &wire.RPCError{Code: codeInternal, Message: excerpt.Of(err.Error(), shown)}
		}
		body = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, m.id, rpc.Code, rawjson.String(rpc.Message))
	}
	if err := w.deliver(w.ctx, body, ""); err != nil && w.ctx.Err() == nil {
		w.address.plugin.log.Warn("an answer did not reach the server", "err", err)
	}
}

// listen reads the messages that a server with sessions sends outside of calls, if it has a stream
// for them.
func (w *web) listen() {
	after, wait := "", listenPause
	for w.ctx.Err() == nil {
		resp, err := w.stream(w.ctx, after)
		if err != nil {
			return // there is no stream, or no session any more; the next call notices that
		}
		stream := newEvents(resp.Body, w.most())
		_, _, _ = w.follow(stream, "", nil) // it is requested again, however it ended
		resp.Body.Close()
		if stream.id != "" {
			after = stream.id
		}
		if stream.retry > 0 {
			wait = stream.retry
		}
		if pause.For(w.ctx, wait) != nil {
			return
		}
	}
}

func readMessage(data []byte) (message, error) {
	o, err := rawjson.Parse(bytes.TrimSpace(data))
	if err != nil {
		return message{}, err
	}
	m := message{id: o.Get("id"), params: o.Get("params"), result: o.Get("result")}
	m.method, _ = o.String("method")
	if fault := o.Get("error"); !rawjson.Missing(fault) {
		f, err := rawjson.Parse(fault)
		if err != nil {
			return message{}, errors.New("its error is not an object")
		}
		m.err = &wire.RPCError{Data: f.Get("data")}
		m.err.Message, _ = f.String("message")
		if err := json.Unmarshal(f.Get("code"), &m.err.Code); err != nil {
			return message{}, errors.New("its error has no code")
		}
	}
	if m.method == "" && m.err == nil && m.result == nil {
		return message{}, errors.New("it is neither a request nor an answer")
	}
	return m, nil
}
