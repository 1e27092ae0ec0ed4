package plugin

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
)

// Codes of JSON-RPC.
const (
	codeRequest  = -32600
	codeMethod   = -32601
	codeParams   = -32602
	codeFailed   = -32000
	codeTooLarge = -32001
)

// mostLine bounds a message: kaged allows 4 MiB, scaffold 10 MB, and a picture for an MCP client may have more.
const mostLine = 16 << 20

type rpcError struct {
	code    int
	message string
}

func (e *rpcError) Error() string { return e.message }

func unknown(method []byte) error {
	return &rpcError{codeMethod, fmt.Sprintf("unknown method %.100q", method)}
}

// A message is one line of JSON-RPC; its parts stand in the line.
type message struct {
	id, method, params, result, failure []byte
}

// parseMessage reads a line; ok is false where it is not JSON-RPC.
func parseMessage(line []byte) (m message, ok bool) {
	rpc := false
	err := members(line, func(name, value []byte) {
		switch string(name) {
		case "jsonrpc":
			rpc = true
		case "id":
			m.id = value
		case "method":
			m.method = value
		case "params":
			m.params = value
		case "result":
			m.result = value
		case "error":
			m.failure = value
		}
	})
	if err != nil || !rpc || m.id != nil && !validID(m.id) {
		return message{}, false
	}
	if n := len(m.method); n > 0 {
		if m.method[0] != '"' {
			return message{}, false
		}
		if m.method = m.method[1 : n-1]; bytes.IndexByte(m.method, '\\') >= 0 {
			m.method = []byte(plain(append(append([]byte{'"'}, m.method...), '"')))
		}
	}
	return m, true
}

// validID: an id is copied into the answer as it came, so it must be what JSON-RPC allows.
func validID(id []byte) bool {
	return id[0] != '{' && id[0] != '[' && json.Valid(id)
}

// A speaker answers requests in one dialect, appending results to out.
type speaker interface {
	answer(ctx context.Context, out []byte, method, params []byte) ([]byte, error)
	// heard is told of notifications.
	heard(method, params []byte)
	// alone says that one request is under way at a time, so that it can be answered where it is read.
	alone() bool
}

// A conversation is JSON-RPC with a host.
type conversation struct {
	session *session
	speaks  atomic.Pointer[speaker] // nil before the handshake
	buffer  []byte                  // of answers that are given where requests are read

	mu      sync.Mutex              // protects what follows
	waiting map[string]chan message // our own requests, by id
	calls   map[string]context.CancelFunc
	next    int
}

// serve speaks JSON-RPC until the host has had enough.
func (s *session) serve(ctx context.Context, in *lines, m message) int {
	ctx, cancel := context.WithCancel(ctx)
	c := &conversation{session: s, waiting: make(map[string]chan message), calls: make(map[string]context.CancelFunc)}
	var handlers sync.WaitGroup
	done := false
	var err error
	for ok := true; !done; {
		if ok {
			done, err = c.take(ctx, m, &handlers)
		} else {
			err = c.reply(nil, nil, &rpcError{codeRequest, "not a message of JSON-RPC 2.0"})
		}
		if err != nil || done {
			break
		}
		var line []byte
		if line, err = in.next(); err != nil {
			if !errors.Is(err, errTooLong) {
				break
			}
			ok = true
			if err = c.reply(nil, nil, &rpcError{codeTooLarge, err.Error()}); err != nil {
				break
			}
			m = message{}
			continue
		}
		if len(trim(line)) == 0 {
			m, ok = message{}, true
			continue
		}
		m, ok = parseMessage(line)
	}
	cancel()
	c.abandon()
	handlers.Wait()
	s.end(context.WithoutCancel(ctx))
	if err != nil && !errors.Is(err, io.EOF) {
		s.complain("%v", err)
		return exitFailed
	}
	return exitOK
}

// take handles one message; done is true after a shutdown.
func (c *conversation) take(ctx context.Context, m message, handlers *sync.WaitGroup) (done bool, err error) {
	speaker := c.speaks.Load()
	switch {
	case m.method == nil && m.id != nil:
		c.settle(m)
		return false, nil
	case m.method == nil:
		return false, nil // nothing that could be answered
	case m.id == nil:
		if speaker != nil {
			c.notified(*speaker, m)
		}
		return false, nil
	case speaker == nil:
		return false, c.greet(ctx, m, handlers)
	case string(m.method) == "shutdown" && c.session.dialect != MCP:
		return true, c.reply(m.id, c.farewell(), nil)
	case (*speaker).alone():
		return false, c.here(ctx, *speaker, m)
	}
	m = m.clone()
	ctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	c.calls[string(m.id)] = cancel
	c.mu.Unlock()
	handlers.Go(func() {
		c.session.running.Add(1)
		defer c.session.running.Add(-1)
		result, err := c.answer(ctx, *speaker, nil, m)
		c.mu.Lock()
		delete(c.calls, string(m.id))
		c.mu.Unlock()
		cancel()
		if werr := c.reply(m.id, result, err); werr != nil {
			c.session.complain("stdout: %v", werr)
		}
	})
	return false, nil
}

// notified passes a notification on; MCP's cancels a request.
func (c *conversation) notified(speaker speaker, m message) {
	if string(m.method) == "notifications/cancelled" {
		var p struct {
			ID json.RawMessage `json:"requestId"`
		}
		if json.Unmarshal(m.params, &p) == nil {
			c.mu.Lock()
			if cancel := c.calls[string(p.ID)]; cancel != nil {
				cancel()
			}
			c.mu.Unlock()
		}
		return
	}
	speaker.heard(m.method, m.params)
}

// farewell is the result of shutdown.
func (c *conversation) farewell() []byte {
	if c.session.dialect == Scaffold {
		return []byte(`{"ok":true}`)
	}
	return []byte("{}")
}

// here answers a request where it was read: nobody else has to be woken for it.
func (c *conversation) here(ctx context.Context, speaker speaker, m message) error {
	c.session.running.Add(1)
	defer c.session.running.Add(-1)
	out := append(append(append(c.buffer[:0], `{"jsonrpc":"2.0","id":`...), m.id...), `,"result":`...)
	out, err := c.answer(ctx, speaker, out, m)
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

func (m message) clone() message {
	return message{id: bytes.Clone(m.id), method: bytes.Clone(m.method), params: bytes.Clone(m.params)}
}

// reply answers a request.
func (c *conversation) reply(id, result []byte, err error) error {
	out := append([]byte(nil), `{"jsonrpc":"2.0","id":`...)
	if id == nil {
		id = []byte("null")
	}
	out = append(out, id...)
	if err == nil {
		return c.session.out.line(append(append(append(out, `,"result":`...), result...), '}'))
	}
	code := codeFailed
	if rpc, ok := errors.AsType[*rpcError](err); ok {
		code = rpc.code
	} else if _, ok := errors.AsType[*argumentError](err); ok {
		code = codeParams
	}
	out = strconv.AppendInt(append(out, `,"error":{"code":`...), int64(code), 10)
	out = appendString(append(out, `,"message":`...), err.Error())
	return c.session.out.line(append(out, '}', '}'))
}

// greet answers the handshake, which says what dialect it is.
func (c *conversation) greet(ctx context.Context, m message, handlers *sync.WaitGroup) error {
	if string(m.method) != "initialize" {
		return c.reply(m.id, nil, &rpcError{codeMethod, fmt.Sprintf("unknown method %.100q before initialize", m.method)})
	}
	dialect, err := handshake(m.params)
	if err != nil {
		return c.reply(m.id, nil, &rpcError{codeParams, err.Error()})
	}
	if !c.session.plugin.speaks(dialect) {
		return c.reply(m.id, nil, c.session.plugin.unspoken(dialect))
	}
	c.session.dialect = dialect
	if dialect != Kaged {
		return c.welcome(ctx, m)
	}
	m = m.clone()
	handlers.Go(func() { // functions of Start may ask for storage, and somebody must read the answer
		if err := c.welcome(ctx, m); err != nil {
			c.session.complain("stdout: %v", err)
		}
	})
	return nil
}

// welcome makes the plugin ready in the session's dialect.
func (c *conversation) welcome(ctx context.Context, m message) error {
	var speaker speaker
	var result []byte
	var err error
	switch c.session.dialect {
	case Kaged:
		speaker, result, err = c.kaged(ctx, m.params)
	case Scaffold:
		speaker, result, err = c.session.scaffold(ctx)
	case MCP:
		speaker, result, err = c.session.mcp(ctx, m.params)
	}
	if err == nil {
		c.speaks.Store(&speaker)
	}
	return c.reply(m.id, result, err)
}

// handshake tells dialects apart by the params of initialize.
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
			return "", errors.New("the params of initialize are no object")
		}
	}
	if len(found) == 1 {
		for d := range found {
			return d, nil
		}
	}
	return "", errors.New("cannot tell which protocol this is: initialize has api_version and plugin_name in kaged, " +
		"protocol_version in scaffold, protocolVersion in MCP, and one of them alone")
}

// request asks the host something, and waits for its answer.
func (c *conversation) request(ctx context.Context, method string, params any) ([]byte, error) {
	text, err := marshal(params)
	if err != nil {
		return nil, err
	}
	answer := make(chan message, 1)
	c.mu.Lock()
	c.next++
	id := strconv.Quote(c.session.plugin.name + "-" + strconv.Itoa(c.next))
	if c.waiting == nil {
		c.mu.Unlock()
		return nil, errGone
	}
	c.waiting[id] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.waiting, id)
		c.mu.Unlock()
	}()
	line := append(append([]byte(`{"jsonrpc":"2.0","id":`), id...), `,"method":`...)
	line = append(appendString(line, method), `,"params":`...)
	if err := c.session.out.line(append(append(line, text...), '}')); err != nil {
		return nil, err
	}
	select {
	case m, ok := <-answer:
		return outcome(m, ok)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

var errGone = errors.New("the host is gone")

func outcome(m message, ok bool) ([]byte, error) {
	if !ok {
		return nil, errGone
	}
	if m.failure == nil {
		return m.result, nil
	}
	var failure struct{ Message string }
	if json.Unmarshal(m.failure, &failure) != nil || failure.Message == "" {
		failure.Message = "the host answered with an error"
	}
	return nil, errors.New(failure.Message)
}

// settle gives an answer of the host's to whoever waits for it.
func (c *conversation) settle(m message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer := c.waiting[string(m.id)]; answer != nil {
		delete(c.waiting, string(m.id))
		answer <- message{result: bytes.Clone(m.result), failure: bytes.Clone(m.failure)}
	}
}

// abandon ends all waiting: no answer will come.
func (c *conversation) abandon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, answer := range c.waiting {
		close(answer)
	}
	c.waiting = nil
}

// notify tells the host something.
func (c *conversation) notify(method string, params any) error {
	text, err := marshal(params)
	if err != nil {
		return err
	}
	line := append(appendString([]byte(`{"jsonrpc":"2.0","method":`), method), `,"params":`...)
	return c.session.out.line(append(append(line, text...), '}'))
}

// lines reads lines of bounded length.
type lines struct {
	in   *bufio.Reader
	long []byte // a line that did not fit the reader's buffer
}

var errTooLong = fmt.Errorf("a message over %d bytes", mostLine)

func newLines(r io.Reader) *lines { return &lines{in: bufio.NewReaderSize(r, 64<<10)} }

// next returns a line, which is good until the next call. The last one may lack its newline.
func (l *lines) next() ([]byte, error) {
	line, err := l.in.ReadSlice('\n')
	if err == nil {
		return line, nil
	}
	l.long = append(l.long[:0], line...)
	for errors.Is(err, bufio.ErrBufferFull) {
		line, err = l.in.ReadSlice('\n')
		if len(l.long)+len(line) > mostLine {
			return nil, l.skip(err)
		}
		l.long = append(l.long, line...)
	}
	if errors.Is(err, io.EOF) && len(l.long) > 0 {
		err = nil
	}
	return l.long, err
}

// skip passes over the rest of a line that is too long.
func (l *lines) skip(err error) error {
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = l.in.ReadSlice('\n')
	}
	l.long = nil
	if err != nil {
		return err
	}
	return errTooLong
}

// rest returns all of the input, of which the first line was read already.
func (l *lines) rest(first []byte) ([]byte, error) {
	all := bytes.Clone(first)
	more, err := io.ReadAll(io.LimitReader(l.in, mostLine))
	return append(all, more...), err
}

func trim(line []byte) []byte { return bytes.TrimSpace(line) }
