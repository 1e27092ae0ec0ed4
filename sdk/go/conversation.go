package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// A speaker answers requests in one dialect, appending results to out.
type speaker interface {
	answer(ctx context.Context, out []byte, method, params []byte) ([]byte, error)
	// alone reports that the host sends one request at a time.
	alone() bool
}

// A conversation is JSON-RPC with a host. One goroutine at a time reads, and answers what it has
// read: waking another one would take longer than most handlers. If a handler takes long, or waits
// for the host, another goroutine takes over the reading.
type conversation struct {
	session  *session
	in       *lines
	speaks   atomic.Pointer[speaker] // nil before the handshake
	buffer   []byte                  // of answers, if the host sends one request at a time
	turn     atomic.Pointer[turn]    // the latest request that its own reader answers
	handlers sync.WaitGroup
	ended    chan error      // how the conversation ended
	reading  context.Context // of the goroutines that read

	mu      sync.Mutex              // protects the fields below
	waiting map[string]chan message // our own requests, by id; nil: the host is gone
	calls   map[string]context.CancelFunc
	next    int
}

// A turn is a request that is answered by the goroutine that has read it.
type turn struct{ state atomic.Int32 }

// States of a turn.
const (
	busy     = iota // no goroutine reads
	relieved        // another goroutine reads
	over            // the same goroutine reads again
)

// relief is how long a handler may take before another goroutine reads. It is short, because a
// health check must be answered within seconds.
const relief = time.Millisecond

// stopWait is how long handlers may take to end after the conversation.
const stopWait = 2 * time.Second

// serve speaks JSON-RPC until the host ends the conversation.
func (s *session) serve(ctx context.Context, in *lines, m message) int {
	ctx, cancel := context.WithCancel(ctx)
	c := &conversation{session: s, in: in, reading: ctx, ended: make(chan error, 1), waiting: make(map[string]chan message),
		calls: make(map[string]context.CancelFunc)}
	c.read(ctx, m)
	err := <-c.ended
	cancel()
	c.abandon()
	c.awaitHandlers()
	s.end(context.WithoutCancel(ctx))
	if err != nil && !errors.Is(err, io.EOF) {
		s.complain("%v", err)
		return exitFailed
	}
	return exitOK
}

// awaitHandlers waits for handlers, for a limited time.
func (c *conversation) awaitHandlers() {
	done := make(chan struct{})
	go func() {
		c.handlers.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(stopWait):
		c.session.complain("handlers are still running after %s; the plugin ends without waiting any longer", stopWait)
	}
}

// errRelieved says that another goroutine reads.
var errRelieved = errors.New("another goroutine reads")

// read handles a message and those that follow it, until the conversation ends or another goroutine
// reads.
func (c *conversation) read(ctx context.Context, m message) {
	for {
		done, err := c.take(ctx, m)
		if err == nil && !done {
			m, err = c.receive()
		}
		switch {
		case errors.Is(err, errRelieved):
			return
		case err != nil || done:
			c.ended <- err
			return
		}
	}
}

// receive returns the next message. It answers an invalid one with an error.
func (c *conversation) receive() (message, error) {
	for {
		line, err := c.in.next()
		if err != nil && !errors.Is(err, errTooLong) {
			return message{}, err
		}
		if err != nil {
			err = c.reply(nil, nil, &rpcError{codeTooLarge, err.Error()})
		} else if len(trim(line)) > 0 {
			m, ok := parseMessage(line)
			if ok {
				return m, nil
			}
			err = c.reply(nil, nil, &rpcError{codeRequest, "not a message of JSON-RPC 2.0"})
		}
		if err != nil {
			return message{}, err
		}
	}
}

// take handles one message; done is true after a shutdown.
func (c *conversation) take(ctx context.Context, m message) (done bool, err error) {
	speaker := c.speaks.Load()
	switch {
	case m.method == nil && m.id != nil:
		c.deliver(m)
		return false, nil
	case m.method == nil:
		return false, nil // it has no id to answer
	case m.id == nil:
		c.cancelled(m)
		return false, nil
	case speaker == nil:
		m = m.clone()
		return false, c.relievable(0, func() error { return c.greet(ctx, m) })
	case string(m.method) == "shutdown" && c.session.dialect != MCP:
		return true, c.reply(m.id, c.shutdownResult(), nil)
	case (*speaker).alone():
		return false, c.here(ctx, *speaker, m)
	}
	m = m.clone()
	ctx, forget := c.register(ctx, m.id)
	return false, c.relievable(relief, func() error {
		defer forget()
		return c.beside(ctx, *speaker, m)
	})
}

// relievable answers a request on the goroutine that has read it. If the answer takes longer than
// after, or waits for the host, another goroutine reads meanwhile. Then relievable returns
// errRelieved. If after is 0, only waiting for the host counts: the requests after the handshake
// must not be read before the handshake is answered.
func (c *conversation) relievable(after time.Duration, answer func() error) error {
	t := &turn{}
	c.turn.Store(t)
	c.handlers.Add(1)
	defer c.handlers.Done()
	c.session.running.Add(1)
	defer c.session.running.Add(-1)
	if after > 0 {
		defer time.AfterFunc(after, func() { c.relieve(t) }).Stop()
	}
	err := answer()
	if t.state.CompareAndSwap(busy, over) {
		return err
	}
	if err != nil {
		c.session.complain("stdout: %v", err)
	}
	return errRelieved
}

// relieve starts another goroutine that reads, unless there is one.
func (c *conversation) relieve(t *turn) {
	if t == nil || !t.state.CompareAndSwap(busy, relieved) {
		return
	}
	go func() {
		m, err := c.receive()
		if err != nil {
			c.ended <- err
			return
		}
		c.read(c.reading, m)
	}()
}

// register makes it possible to cancel a request of an MCP client. It is called before the next
// message is read, because that message may cancel the request.
func (c *conversation) register(ctx context.Context, id []byte) (context.Context, func()) {
	if c.session.dialect != MCP {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[string(id)] = cancel
	return ctx, func() {
		c.mu.Lock()
		delete(c.calls, string(id))
		c.mu.Unlock()
		cancel()
	}
}

// beside answers a request of a host that may send several at once.
func (c *conversation) beside(ctx context.Context, speaker speaker, m message) error {
	out, err := c.answer(ctx, speaker, begin(make([]byte, 0, 512), m.id), m)
	if err != nil {
		return c.reply(m.id, nil, err)
	}
	return c.session.out.line(append(out, '}'))
}

// begin begins the answer to a request.
func begin(out, id []byte) []byte {
	return append(append(append(out, `{"jsonrpc":"2.0","id":`...), id...), `,"result":`...)
}

// cancelled ends the context of a request that an MCP client has cancelled. It ignores other
// notifications.
func (c *conversation) cancelled(m message) {
	if string(m.method) != "notifications/cancelled" {
		return
	}
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(m.params, &p) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.calls[string(p.ID)]; cancel != nil {
		cancel()
	}
}

// shutdownResult returns the result of shutdown.
func (c *conversation) shutdownResult() []byte {
	if c.session.dialect == Scaffold {
		return []byte(`{"ok":true}`)
	}
	return []byte("{}")
}

// here answers a request of a host that waits for the answer before it sends the next.
func (c *conversation) here(ctx context.Context, speaker speaker, m message) error {
	c.session.running.Add(1)
	defer c.session.running.Add(-1)
	out, err := c.answer(ctx, speaker, begin(c.buffer[:0], m.id), m)
	if err != nil {
		return c.reply(m.id, nil, err)
	}
	c.buffer = append(out, '}')
	return c.session.out.line(c.buffer)
}

func (c *conversation) answer(ctx context.Context, speaker speaker, out []byte, m message) (result []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = c.session.plugin.panicked(string(m.method), r)
		}
	}()
	return speaker.answer(ctx, out, m.method, m.params)
}

// reply answers a request with a whole result, or an error.
func (c *conversation) reply(id, result []byte, err error) error {
	if id == nil {
		id = []byte("null")
	}
	if err == nil {
		return c.session.out.line(append(append(begin(nil, id), result...), '}'))
	}
	code := codeFailed
	if rpc, ok := errors.AsType[*rpcError](err); ok {
		code = rpc.code
	} else if _, ok := errors.AsType[*argumentError](err); ok {
		code = codeParams
	}
	out := append(append([]byte(`{"jsonrpc":"2.0","id":`), id...), `,"error":{"code":`...)
	out = appendString(append(strconv.AppendInt(out, int64(code), 10), `,"message":`...), err.Error())
	return c.session.out.line(append(out, '}', '}'))
}

// greet answers the handshake, which determines the dialect.
func (c *conversation) greet(ctx context.Context, m message) error {
	if string(m.method) != "initialize" {
		return c.reply(m.id, nil, &rpcError{codeMethod, fmt.Sprintf("unknown method %.100q before initialize", m.method)})
	}
	dialect, err := handshake(m.params)
	if err != nil {
		return c.reply(m.id, nil, &rpcError{codeParams, err.Error()})
	}
	s := c.session
	if !s.plugin.speaks(dialect) {
		return c.reply(m.id, nil, s.plugin.unspoken(dialect))
	}
	s.dialect = dialect
	var speaker speaker
	var result []byte
	switch dialect {
	case Kaged:
		speaker, result, err = c.kaged(ctx, m.params)
	case Scaffold:
		speaker, result, err = s.scaffold(ctx)
	case MCP:
		speaker, result, err = s.mcp(ctx, m.params)
	}
	if err == nil {
		c.speaks.Store(&speaker)
	}
	return c.reply(m.id, result, err)
}

// handshake determines the dialect from the params of initialize.
func handshake(params []byte) (Dialect, error) {
	found := map[Dialect]bool{}
	if len(params) > 0 {
		err := members(params, func(name, value []byte) {
			switch string(name) {
			case "protocolVersion":
				found[MCP] = true
			case "protocol_version":
				found[Scaffold] = true
			case "api_version", "plugin_name", "daemon_version":
				found[Kaged] = true
			}
		})
		if err != nil {
			return "", errors.New("the params of initialize are not an object")
		}
	}
	if len(found) == 1 {
		for d := range found {
			return d, nil
		}
	}
	return "", errors.New("cannot tell which protocol this is: initialize has api_version and plugin_name in kaged, " +
		"protocol_version in scaffold, protocolVersion in MCP; it must have those of one protocol only")
}
