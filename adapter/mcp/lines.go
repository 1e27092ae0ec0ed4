package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// lastGrace is how long Read waits for pending answers at the end of the input. A client that needs
// more time keeps its pipe open.
const lastGrace = 2 * time.Second

// lines are the two streams of a client over pipes. Read reports the end of the input only after
// all requests have been answered. So a client may write its requests, close the pipe and read the
// answers. A line that is not a message is left out, because the SDK would end the connection
// (docs/protocols/mcp.md, C18).
type lines struct {
	in  *bufio.Reader
	log *slog.Logger

	rest []byte // of a line that did not fit into the buffer of Read's caller

	writing sync.Mutex // protects out
	out     io.Writer

	mu   sync.Mutex     // protects the fields below
	open map[string]int // how many requests have no answer yet, by their ids; there is no entry for 0
	none chan struct{}  // closed when open becomes empty; nil: no goroutine waits
}

func newLines(in io.Reader, out io.Writer, log *slog.Logger) *lines {
	return &lines{in: bufio.NewReaderSize(in, 64<<10), out: out, log: log, open: make(map[string]int)}
}

// Read returns one message, or a part of it.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := l.next()
		if len(line) == 0 && err != nil {
			l.awaitAnswers()
			return 0, err
		}
		if message := bytes.TrimSpace(line); len(message) > sdk.DefaultMaxLineLength || isMessage(message) {
			l.count(message, 1)
			l.rest = append(message, '\n')
		} else if len(message) > 0 {
			if err := l.refuse(message); err != nil {
				return 0, err
			}
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// next returns the next line. It stops at the limit of the SDK, which then ends the connection.
func (l *lines) next() ([]byte, error) {
	var line []byte
	for {
		part, err := l.in.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > sdk.DefaultMaxLineLength {
			return line, nil
		}
	}
}

// isMessage reports whether the SDK can read a line: a message, or a list of them, which some
// revisions allow.
func isMessage(line []byte) bool {
	if !json.Valid(line) {
		return false
	}
	if line[0] != '[' {
		_, err := jsonrpc.DecodeMessage(line)
		return err == nil
	}
	var batch []json.RawMessage
	if err := json.Unmarshal(line, &batch); err != nil || len(batch) == 0 {
		return false
	}
	return !slices.ContainsFunc(batch, func(one json.RawMessage) bool {
		_, err := jsonrpc.DecodeMessage(one)
		return err != nil
	})
}

// refuse answers a line that is not a message, if it has an id that an answer can have.
func (l *lines) refuse(line []byte) error {
	l.log.Warn("a line of the MCP client is not a message of JSON-RPC 2.0, and is ignored", "bytes", len(line))
	o, err := rawjson.Parse(line)
	if err != nil {
		return nil
	}
	id := o.Get("id")
	if _, isText := rawjson.Unquote(id); !isText && !isNumber(id) {
		return nil
	}
	_, err = l.Write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"this is not a message of JSON-RPC 2.0"}}`+"\n", id, jsonrpc.CodeInvalidRequest))
	return err
}

func isNumber(raw []byte) bool {
	return len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}

// Write writes one message.
func (l *lines) Write(p []byte) (int, error) {
	l.writing.Lock()
	n, err := l.out.Write(p)
	l.writing.Unlock()
	l.count(p, -1)
	return n, err
}

// count counts requests that are read and answers that are written. A line that is too long to be
// parsed is not counted, so its answer is not waited for.
func (l *lines) count(line []byte, by int) {
	o, err := rawjson.Parse(line)
	if err != nil || len(o.Get("id")) == 0 {
		return
	}
	method, isRequest := o.String("method")
	if isRequest != (by > 0) || method == "subscriptions/listen" { // it is never answered
		return
	}
	id := string(o.Get("id"))
	if text, ok := rawjson.Unquote(o.Get("id")); ok {
		id = string(rawjson.String(text)) // the answer may escape it differently
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[id] += by; l.open[id] <= 0 { // below 0: the request was not counted
		delete(l.open, id)
	}
	if len(l.open) == 0 && l.none != nil {
		close(l.none)
		l.none = nil
	}
}

// awaitAnswers waits until all requests are answered, at most for lastGrace.
func (l *lines) awaitAnswers() {
	l.mu.Lock()
	if len(l.open) == 0 {
		l.mu.Unlock()
		return
	}
	none := make(chan struct{})
	l.none = none
	l.mu.Unlock()
	timer := time.NewTimer(lastGrace)
	defer timer.Stop()
	select {
	case <-none:
	case <-timer.C:
	}
}

// Close does not close the streams, which belong to the caller of Run.
func (l *lines) Close() error { return nil }
