package wire

import (
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// serveMax limits what a plugin reads. It is above the limit of every dialect, which the host
// enforces.
const serveMax = 16 << 20

const (
	combineMax  = 16 << 10              // how many bytes are combined into one write: as much as the host's reader takes at once
	quickAnswer = 50 * time.Microsecond // how long an answer may take before earlier replies are sent without it: the time of a few writes
)

// Serve is the plugin's side. It handles one request at a time and replies in order, until r ends.
// An [*RPCError] from answer is sent as it is, any other error as -32603. Notifications are not
// answered. Garbage is answered with -32700.
//
// answer owns params. Serve returns nil when r ends, and otherwise why it stopped.
func Serve(r io.Reader, w io.Writer, answer Answer) error {
	return serve(&server{in: NewReader(r, serveMax), w: w, answer: answer})
}

// ServeLent is [Serve] without the copy of params: they are valid until answer returns, and its
// result may be a part of them. A plugin that decodes params at once saves the copy of a large
// message and its garbage.
func ServeLent(r io.Reader, w io.Writer, answer Answer) error {
	return serve(&server{in: NewReader(r, serveMax), w: w, answer: answer, lend: true})
}

// An Answer handles a request or a notification.
type Answer func(method string, params json.RawMessage) (json.RawMessage, error)

type server struct {
	in     *Reader
	w      io.Writer
	out    []byte // replies that wait to be sent together
	answer Answer
	last   string // the last method, if it had no escapes
	lend   bool   // params are not copied
}

// serve answers everything that has arrived, and then sends all the replies with one write. A host
// with many calls under way is woken once for all of them; a single reply is sent at once.
func serve(s *server) error {
	for {
		line, ok, err := s.in.line()
		switch {
		case err != nil:
			s.fault(nil, codeInvalid, err.Error())
			err = nil
		case ok:
			err = s.answerLine(line)
		case s.in.err != nil:
			return errors.Join(s.answerLine(s.in.last()), s.flush())
		default:
			err = s.refill()
		}
		if err != nil {
			return err
		}
	}
}

// refill sends the waiting replies and reads on.
func (s *server) refill() error {
	if err := s.flush(); err != nil {
		return err
	}
	return s.in.fill(s.in.src)
}

// mostNested is how deep a host's message may be: as deep as encoding/json reads. A host may wrap
// what other plugins sent.
const mostNested = 10_000

// answerLine answers every message on a line.
func (s *server) answerLine(line []byte) error {
	for i := rawjson.Space(line, 0); i < len(line); i = rawjson.Space(line, i) {
		m := message{line: line, start: i}
		if err := m.scan(mostNested); err != nil {
			s.fault(nil, codeParse, err.Error())
			return nil
		}
		if err := s.message(&m); err != nil {
			return err
		}
		i = m.end
	}
	return nil
}

func (s *server) message(m *message) error {
	method, ok := s.method(m)
	if !ok {
		s.fault(m.raw(m.id), codeInvalid, invalidText)
		return nil
	}
	if len(s.out) > 0 || s.in.next < len(s.in.buf) {
		return s.oneOfMany(method, m)
	}
	s.reply(method, m)
	return nil
}

// method returns the message's method. A host calls the same method again and again, so the last
// one is kept, which saves a string.
func (s *server) method(m *message) (string, bool) {
	raw := m.raw(m.method)
	if n := len(s.last); n > 0 && len(raw) == n+2 && raw[0] == '"' && string(raw[1:n+1]) == s.last {
		return s.last, true
	}
	method, ok := rawjson.Unquote(raw)
	s.last = ""
	if ok && len(method) == len(raw)-2 { // without escapes
		s.last = method
	}
	return method, ok
}

// oneOfMany answers a request that arrived with others. Replies wait for each other only while
// answers are quick and short.
func (s *server) oneOfMany(method string, m *message) error {
	began := time.Now()
	s.reply(method, m)
	if len(s.out) < combineMax && time.Since(began) < quickAnswer {
		return nil
	}
	return s.flush()
}

func (s *server) reply(method string, m *message) {
	result, err := s.answer(method, s.params(m))
	switch {
	case !m.has(m.id): // a notification
	case err != nil:
		s.out = appendFault(s.out, m.raw(m.id), asRPCError(err))
	default:
		s.out = appendReply(s.out, m.raw(m.id), result)
	}
}

func (s *server) params(m *message) json.RawMessage {
	if s.lend && m.params.End > 0 {
		return m.params.Clean(m.line)
	}
	return m.own(s.in, m.params)
}

func (s *server) fault(id []byte, code int, text string) {
	s.out = appendFault(s.out, id, &RPCError{Code: code, Message: text})
}

func (s *server) flush() error {
	if len(s.out) == 0 {
		return nil
	}
	_, err := s.w.Write(s.out)
	s.out = s.out[:0]
	if cap(s.out) > keepBuffer {
		s.out = nil
	}
	return err
}

// asRPCError returns the error to answer with: err itself, or one with its text.
func asRPCError(err error) *RPCError {
	var rpc *RPCError
	if errors.As(err, &rpc) {
		return rpc
	}
	return &RPCError{Code: codeInternal, Message: excerpt.Head(err.Error(), messageCut)}
}
