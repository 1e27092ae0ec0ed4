package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A dialogue is one process that speaks JSON-RPC, one message a line. It reads more strictly than
// the host: it also notes faults that the host tolerates.
type dialogue struct {
	b       *bench
	process *proc.Process
	serve   func(method string, params json.RawMessage) (json.RawMessage, *rpcError) // answers the plugin's requests; nil: the protocol has none
	heard   func(method string)                                                      // called with notifications; nil: the protocol has none

	writing sync.Mutex // one line at a time
	ended   chan struct{}

	mu      sync.Mutex // protects the fields below
	next    int
	waiting map[string]chan *answer
	tail    []byte // the last line, if its end has not come yet
	broken  []byte // lines that are not JSON, and may be parts of one message
	last    []byte // the last answer that had the id of its request, if it is long

	arrived []delivery // answers that are delivered when everything that came with them is read; only the reader uses it

	garbled atomic.Bool // the plugin was sent an invalid line, so invalid lines of the plugin are not reported
}

// A delivery is an answer for a request that waits.
type delivery struct {
	to chan *answer
	a  *answer
}

// An answer is a response to a request.
type answer struct {
	result json.RawMessage
	err    *rpcError
	took   time.Duration
}

// An rpcError is the error object of a response.
type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("error %d: %s", e.Code, e.Message) }

// The codes of errors that have a meaning in JSON-RPC itself.
const (
	codeParse    = -32700
	codeInvalid  = -32600
	codeNoMethod = -32601
)

// The reasons for a missing answer.
var (
	errNoAnswer = errors.New("no answer")
	errEnded    = errors.New("it ended")
)

// talk starts a process and begins to read its output.
func (b *bench) talk(l launch) (*dialogue, error) {
	process, err := b.start(l)
	if err != nil {
		return nil, err
	}
	d := &dialogue{b: b, process: process, ended: make(chan struct{}), waiting: make(map[string]chan *answer)}
	go d.read(process.Stdout())
	return d, nil
}

// read reads lines until the process closes its stdout.
func (d *dialogue) read(from io.Reader) {
	defer close(d.ended)
	in := bufio.NewReaderSize(tailed{from, d}, 64<<10)
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) <= mostStdout {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err == nil {
			d.line(bytes.TrimSpace(line))
			line = nil
		}
		// Lines that arrived together are read together. Otherwise a second copy of an answer could
		// count as the answer to the next request.
		if rest, _ := in.Peek(in.Buffered()); err != nil || !bytes.Contains(rest, []byte("\n")) {
			d.deliver()
		}
		if err != nil {
			return
		}
	}
}

// deliver delivers the answers that have arrived.
func (d *dialogue) deliver() {
	for _, arrived := range d.arrived {
		arrived.to <- arrived.a
	}
	d.arrived = nil
}

// tailed is the output of a process. It stores the beginning of a line whose end has not come yet.
type tailed struct {
	io.Reader
	d *dialogue
}

// mostTail is how much of an unfinished line is kept. Messages show less.
const mostTail = 1 << 10

func (t tailed) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	part := p[:n]
	t.d.mu.Lock()
	defer t.d.mu.Unlock()
	if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
		t.d.tail, part = t.d.tail[:0], part[i+1:]
	}
	t.d.tail = append(t.d.tail, part[:min(len(part), mostTail-len(t.d.tail))]...)
	return n, err
}

// line handles one line.
func (d *dialogue) line(text []byte) {
	if len(text) == 0 {
		return
	}
	o, err := rawjson.ParseWithin(text, rawjson.MaxForeign)
	if err != nil {
		d.noise(text)
		return
	}
	if !utf8.Valid(text) && !d.garbled.Load() { // else it may quote the host's own bytes
		d.b.seen.note(sawEnvelope, "a message that is not UTF-8: %s", shown(text))
	}
	if string(o.Get("jsonrpc")) != `"2.0"` {
		d.b.seen.note(sawEnvelope, `a message without "jsonrpc":"2.0": %s`, shown(text))
	}
	for _, part := range []json.RawMessage{text, o.Get("result")} {
		_, err := rawjson.ParseForeign(part)
		if repeated, ok := errors.AsType[*rawjson.RepeatError](err); ok {
			d.b.seen.note(sawEnvelope, "%v: %s", repeated, shown(part))
		}
	}
	method, asks := o.String("method")
	id := o.Get("id")
	switch {
	case asks && id != nil:
		d.request(id, method, o.Get("params"))
	case asks:
		if d.heard != nil {
			d.heard(method)
		} else {
			d.b.seen.note(sawUnasked, "it sends the notification %s", shown(method))
		}
	case id != nil:
		d.response(id, o, text)
	default:
		d.b.seen.note(sawEnvelope, "a message without method and id: %s", shown(text))
		d.unnamed(o, text)
	}
}

// mostBroken limits how much of a message over several lines is joined.
const mostBroken = 64 << 10

// noise handles a line that is not a JSON object. Several such lines may form one message: that is
// a fault, but the message counts.
func (d *dialogue) noise(text []byte) {
	whole := d.rejoin(text)
	what, said := "a line that is not a message", text
	if whole != nil {
		what, said = "a message over several lines", whole
	}
	if !d.garbled.Load() {
		d.b.seen.note(sawNoise, "%s: %s", what, shown(said))
	}
	if whole != nil {
		d.line(rawjson.Compact(whole))
	}
}

// rejoin joins lines that are not JSON, starting with one that begins an object, and returns the
// message that they form; nil: none yet.
func (d *dialogue) rejoin(text []byte) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.broken) == 0 && text[0] != '{' || len(d.broken)+len(text) > mostBroken {
		d.broken = nil
		return nil
	}
	d.broken = append(append(d.broken, text...), '\n')
	whole := bytes.TrimSpace(d.broken)
	o, err := rawjson.ParseWithin(whole, rawjson.MaxForeign)
	if err != nil || o.Get("jsonrpc") == nil {
		return nil
	}
	d.broken = nil
	return whole
}

// response delivers an answer to the request that waits for it.
func (d *dialogue) response(id json.RawMessage, o rawjson.Object, text []byte) {
	a := d.readAnswer(o, text)
	refusesLine := a.err != nil && (a.err.Code == codeParse || a.err.Code == codeInvalid)
	if string(id) == "null" {
		if !refusesLine {
			d.b.seen.note(sawReply, "an answer to no request: %s", shown(text))
		}
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	wait := d.waiting[string(id)]
	if wait == nil {
		if refusesLine && d.garbled.Load() {
			d.b.seen.note(sawID, "an answer to an invalid line with the id %s in place of null: %s", excerpt.Of(string(id), 160), shown(text))
			return
		}
		d.b.seen.note(sawID, "an answer with the id %s, which no request under way has: %s", excerpt.Of(string(id), 160), shown(text))
		if d.last != nil && bytes.Equal(text, d.last) {
			return // a second copy of an answer that did not arrive together with the first
		}
		if id, wait = d.meant(id); wait == nil {
			return
		}
	} else if d.last = nil; len(text) > longAnswer {
		d.last = bytes.Clone(text)
	}
	delete(d.waiting, string(id))
	d.arrived = append(d.arrived, delivery{wait, a})
}

// unnamed delivers an answer without an id to the only request under way, so that the report does
// not say that there was no answer.
func (d *dialogue) unnamed(o rawjson.Object, text []byte) {
	if o.Get("result") == nil && o.Get("error") == nil {
		return
	}
	a := d.readAnswer(o, text)
	d.mu.Lock()
	defer d.mu.Unlock()
	if id, wait := d.meant(nil); wait != nil {
		delete(d.waiting, string(id))
		d.arrived = append(d.arrived, delivery{wait, a})
	}
}

// longAnswer is the longest answer of which two copies, written at once, always arrive together. It
// is half of the longest write that a pipe never splits.
const longAnswer = 2 << 10

// meant returns the only request that an answer with a wrong id can be for; nil if that is not
// certain. The caller holds mu.
func (d *dialogue) meant(id json.RawMessage) (json.RawMessage, chan *answer) {
	if text, ok := rawjson.Unquote(id); ok && d.waiting[text] != nil {
		return json.RawMessage(text), d.waiting[text]
	}
	if len(d.waiting) == 1 {
		for only, wait := range d.waiting {
			return json.RawMessage(only), wait
		}
	}
	return nil, nil
}

// readAnswer reads a response and notes what is wrong with its form.
func (d *dialogue) readAnswer(o rawjson.Object, text []byte) *answer {
	a := &answer{result: o.Get("result")}
	raw := o.Get("error")
	if rawjson.Missing(raw) {
		if a.result == nil {
			d.b.seen.note(sawEnvelope, "an answer with neither result nor error: %s", shown(text))
		}
		return a
	}
	if a.result != nil && string(a.result) != "null" {
		d.b.seen.note(sawEnvelope, "an answer with both result and error: %s", shown(text))
		return a
	}
	e, err := rawjson.Parse(raw)
	message, isText := e.String("message")
	code, codeErr := strconv.Atoi(string(e.Get("code")))
	if err != nil || !isText || codeErr != nil {
		d.b.seen.note(sawEnvelope, "an error without a code that is an integer and a message that is a string: %s", shown(raw))
	}
	a.result, a.err = nil, &rpcError{Code: code, Message: message, Data: e.Get("data")}
	d.b.suspect(message)
	return a
}

// request answers a request of the plugin.
func (d *dialogue) request(id json.RawMessage, method string, params json.RawMessage) {
	var result json.RawMessage
	fault := &rpcError{Code: codeNoMethod, Message: "no such method"}
	if d.serve != nil {
		result, fault = d.serve(method, params)
	} else {
		d.b.seen.note(sawRequest, "it asks the host for %s", shown(method))
	}
	reply := rawjson.Object{{Name: "jsonrpc", Value: json.RawMessage(`"2.0"`)}, {Name: "id", Value: id}, {Name: "result", Value: result}}
	if fault != nil {
		text, _ := json.Marshal(fault) // cannot fail
		reply[2] = rawjson.Field{Name: "error", Value: text}
	}
	go func() { _ = d.write(append(reply.JSON(), '\n')) }() // the reader must not wait for a plugin that does not read
}
