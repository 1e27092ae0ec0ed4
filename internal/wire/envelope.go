package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync/atomic"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A message is one JSON-RPC envelope, scanned but not decoded: it holds the positions of its parts
// in the line. An absent part has the zero Span.
type message struct {
	line                              []byte // borrowed from the reader
	start, end                        int    // of the envelope in the line, which may hold several
	id, method, params, result, fault rawjson.Span
	outline                           rawjson.Outline // of the result
	deep                              bool            // it is nested deeper than a plugin may send, so nothing of it is passed on
	repeated                          string          // a part that the envelope has twice, with different values; aliases line
}

// scanMessage scans the envelope of a plugin that starts at line[i]. An envelope that is too deep
// is scanned to its end too, so that its id is known. That costs little: the scanner needs one bit
// per level, and a line has no more levels than bytes.
func scanMessage(line []byte, i int) (m message, err error) {
	m.line, m.start = line, i
	err = m.scan(envelopeLevels + rawjson.MaxForeign)
	if err != nil && isDeep(err) {
		m = message{line: line, start: i, deep: true}
		err = m.scan(len(line))
	}
	return m, err
}

// isDeep is a separate function because scanMessage, which scans every message, must not allocate.
func isDeep(err error) bool {
	_, ok := errors.AsType[*rawjson.DepthError](err)
	return ok
}

// envelopeLevels is the number of levels around the parts of a message.
const envelopeLevels = 1

var errDeep = fmt.Errorf("nested deeper than the limit of %d levels", rawjson.MaxForeign)

// scan scans and validates the envelope, which has at most depth levels. Keys may come in any
// order. Unknown keys are ignored. If the message gives one part two values, outcome returns an
// error.
func (m *message) scan(depth int) error {
	c := rawjson.FieldsWithin(m.line, m.start, depth)
	for c.Next() {
		m.take(&c)
	}
	m.end = c.End
	return c.Err
}

// take stores the position of the cursor's field.
func (m *message) take(c *rawjson.Cursor) {
	switch c.Name {
	case "id":
		m.set(&m.id, c)
	case "method":
		m.set(&m.method, c)
	case "params":
		m.set(&m.params, c)
	case "result":
		m.set(&m.result, c)
		m.outline = c.Outline()
	case "error":
		m.set(&m.fault, c)
	}
}

func (m *message) set(part *rawjson.Span, c *rawjson.Cursor) {
	if part.End > 0 && !bytes.Equal(m.raw(*part), m.raw(c.Value)) {
		m.repeated = c.Name
	}
	*part = c.Value
}

// peek scans the beginning of a message that was cut off. asks reports that it is a request or a
// notification: it has a method or params, and neither a result nor an error.
func peek(head []byte) (m message, asks bool) {
	m = message{line: head}
	c := rawjson.FieldsWithin(head, rawjson.Space(head, 0), len(head))
	for c.Next() {
		m.take(&c)
	}
	if c.Name != "id" { // the field that was cut off
		c.Value.End = len(head)
		m.take(&c)
	}
	asks = (m.method.End > 0 || m.params.End > 0) && m.result.End == 0 && !m.has(m.fault)
	return m, asks
}

// tailID finds the id in the end of a message, if it is the last field, and otherwise returns nil.
// Nothing else there can look like it: inside a string, the quotes around id would have
// backslashes, and in an inner object, two braces would follow the value.
func tailID(tail []byte) []byte {
	tail = bytes.TrimRight(tail, " \t\r")
	i := bytes.LastIndex(tail, []byte(`"id"`))
	if i < 0 || tail[len(tail)-1] != '}' {
		return nil
	}
	value, ok := bytes.CutPrefix(bytes.TrimSpace(tail[i+len(`"id"`):len(tail)-1]), []byte{':'})
	value = bytes.TrimSpace(value)
	if !ok || rawjson.Check(value) != nil || string(value) == "null" {
		return nil
	}
	return value
}

// raw returns a part as it stands in the line; empty if it is absent.
func (m *message) raw(s rawjson.Span) []byte { return m.line[s.Start:s.End] }

// text returns the envelope as it stands in the line.
func (m *message) text() []byte { return m.line[m.start:m.end] }

func (m *message) has(s rawjson.Span) bool { return s.End > 0 && string(m.raw(s)) != "null" }

// A kind says what an envelope is, by its parts.
type kind int

const (
	isNothing kind = iota // it has no method, result or error
	isReply
	isRequest
	isNotification
)

// kind returns the kind of the envelope. A result or an error makes it a reply even if it has a
// method: some plugins repeat the fields of the request. "result":null is a result. "error":null is
// not an error: older libraries send it with a result.
func (m *message) kind() kind {
	switch {
	case m.result.End > 0 || m.has(m.fault):
		return isReply
	case m.method.End == 0:
		return isNothing
	case m.has(m.id):
		return isRequest
	}
	return isNotification
}

func (m *message) callID() (uint64, bool) { return callID(m.raw(m.id)) }

// callID parses an id that we issued. A plugin that converts ids to its own types may return 1 as
// "1" or as 1.0.
func callID(id []byte) (uint64, bool) {
	if len(id) > 1 && id[0] == '"' {
		id = id[1 : len(id)-1] // an escape is not a digit, and fails below
	}
	if n, ok := decimal(id); ok {
		return n, true
	}
	if len(id) == 0 || len(id) > idCut || id[0] > '9' {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(id), 64)
	if err != nil || f < 1 || f > 1<<53 || f != math.Trunc(f) {
		return 0, false
	}
	return uint64(f), true
}

// texts remembers whether an id that we issued came back as a string. Such a reply is accepted, but
// its author may want to know.
type texts struct{ some atomic.Bool }

func (t *texts) note(m *message) {
	if id := m.raw(m.id); len(id) > 0 && id[0] == '"' && !t.some.Load() {
		t.some.Store(true)
	}
}

func (t *texts) seen() bool { return t.some.Load() }

// decimal parses up to 18 digits, more than any id that we issue.
func decimal(text []byte) (n uint64, ok bool) {
	if len(text) == 0 || len(text) > 18 {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return n, true
}

// outcome returns the result or the error of a reply. split: the caller needs the fields.
func (m *message) outcome(in *Reader, split bool) (Result, error) {
	switch {
	case m.deep:
		return Result{}, m.malformed(errDeep)
	case m.repeated != "":
		return Result{}, m.malformed(&rawjson.RepeatError{Name: m.repeated})
	case m.has(m.fault):
		return Result{}, m.rpcError()
	case m.result.End > 0:
		r := Result{JSON: m.own(in, m.result)}
		if split && r.JSON[0] == '{' {
			r.Fields, r.Ambiguous = m.outline.ParseForeign(r.JSON)
		}
		return r, nil
	}
	return Result{}, m.malformed(errors.New("neither result nor error"))
}

func (m *message) malformed(why error) error {
	return &MalformedError{Line: excerpt.Head(m.text(), messageCut), Why: why.Error()}
}

// own returns a cleaned part of the message, which the caller may keep. If Clean had to change the
// part, Clean has already copied it.
func (m *message) own(in *Reader, s rawjson.Span) json.RawMessage {
	if s.End == 0 {
		return nil
	}
	v := s.Clean(m.line)
	if &v[0] == &m.line[s.Start] {
		return in.keep(v)
	}
	return v
}

// rpcError decodes the error of a reply. The standard demands an object; a plain string is common
// enough to be accepted as the message.
func (m *message) rpcError() error {
	fault := m.raw(m.fault)
	if text, ok := rawjson.Unquote(fault); ok {
		return &RPCError{Message: text}
	}
	o, err := rawjson.Parse(append([]byte(nil), fault...))
	if err != nil {
		return m.malformed(errors.New("error is neither an object nor a string"))
	}
	text, _ := o.String("message")
	code, _ := strconv.ParseFloat(string(o.Get("code")), 64)
	if math.Abs(code) > math.MaxInt32 || code != math.Trunc(code) {
		code = 0 // not a usable code
	}
	return &RPCError{Code: int(code), Message: text, Data: o.Get("data")}
}

// appendRequest appends a request. "id" is the last key, so that shell plugins can match it with
// sed: docs/protocols/scaffold.md, row S49.
func appendRequest(dst []byte, method string, params []byte, id uint64) []byte {
	dst = appendCall(dst, method, params)
	dst = append(dst, `,"id":`...)
	dst = strconv.AppendUint(dst, id, 10)
	return append(dst, "}\n"...)
}

func appendNotification(dst []byte, method string, params []byte) []byte {
	return append(appendCall(dst, method, params), "}\n"...)
}

func appendCall(dst []byte, method string, params []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":`...)
	dst = rawjson.AppendString(dst, method)
	dst = append(dst, `,"params":`...)
	if len(params) == 0 {
		return append(dst, "{}"...)
	}
	return append(dst, params...)
}

// appendReply and appendFault append the answer to the request with that raw id.
func appendReply(dst, id, result []byte) []byte {
	dst = append(appendID(dst, id), `,"result":`...)
	if len(result) == 0 {
		result = []byte("null")
	}
	return append(appendLine(dst, result), "}\n"...)
}

func appendFault(dst, id []byte, e *RPCError) []byte {
	dst = append(appendID(dst, id), `,"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(e.Code), 10)
	dst = append(dst, `,"message":`...)
	dst = rawjson.AppendString(dst, e.Message)
	if len(e.Data) > 0 {
		dst = appendLine(append(dst, `,"data":`...), e.Data)
	}
	return append(dst, "}}\n"...)
}

// appendID begins an answer. An id that is too long is replaced by null.
func appendID(dst, id []byte) []byte {
	if len(id) == 0 || len(id) > messageCut {
		id = []byte("null")
	}
	return appendLine(append(dst, `{"jsonrpc":"2.0","id":`...), id)
}

// appendLine appends JSON, without its newlines, which would break the framing. It does not check
// that v is JSON. If it is not, only this message is broken.
func appendLine(dst, v []byte) []byte {
	if bytes.IndexByte(v, '\n') < 0 {
		return append(dst, v...)
	}
	return append(dst, bytes.ReplaceAll(rawjson.Compact(v), []byte{'\n'}, []byte{' '})...)
}
