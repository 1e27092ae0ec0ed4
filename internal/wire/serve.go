package wire

import (
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/patchbay-dev/patchbay/internal/rawjson"
)

// serveMax caps what a plugin reads. It is above every dialect's limit: the host enforces that one.
const serveMax = 16 << 20

// combineMax is how much replies are combined into one write: as much as a host's reader takes at once.
const combineMax = 16 << 10

// quickAnswer is what an answer may take for the next one to be waited for: a few times what a write of its own costs.
const quickAnswer = 50 * time.Microsecond

// Serve is the plugin's side: one request at a time, replies in order, until r ends. An [*RPCError] from answer goes out as
// such, any other error as -32603; the answer to a notification is not sent. Garbage is answered with -32700.
//
// answer owns params. Serve returns nil when r ends, and otherwise why it could not go on.
func Serve(r io.Reader, w io.Writer, answer Answer) error {
	return serve(&server{in: NewReader(r, serveMax), w: w, answer: answer})
}

// ServeLent is [Serve] without the copy that makes params answer's own: they are valid until answer returns, and its
// result may be a part of them. For a plugin that decodes params at once, that is a large message's copy and its garbage
// saved.
func ServeLent(r io.Reader, w io.Writer, answer Answer) error {
	return serve(&server{in: NewReader(r, serveMax), w: w, answer: answer, lend: true})
}

// Answer is what a plugin does with a request or notification.
type Answer func(method string, params json.RawMessage) (json.RawMessage, error)

func serve(s *server) error {
	for {
		line, ok, err := s.in.line()
		switch {
		case err != nil:
			err = s.fault(nil, codeInvalid, err.Error())
		case ok:
			err = s.lineOf(line)
		case s.in.err == io.EOF:
			return errors.Join(s.lineOf(s.in.last()), s.flush())
		default:
			if err = s.flush(); err == nil {
				err = s.in.fill(s.in.src)
			}
		}
		if err != nil {
			return err
		}
	}
}

type server struct {
	in     *Reader
	w      io.Writer
	out    []byte // replies that wait for the requests that came with theirs
	answer Answer
	slow   bool // the last answer took its time
	lend   bool // params are not copied
}

// lineOf answers every message on a line.
func (s *server) lineOf(line []byte) error {
	for i := rawjson.Space(line, 0); i < len(line); i = rawjson.Space(line, i) {
		m, err := scanMessage(line, i)
		if err != nil {
			return s.fault(nil, codeParse, err.Error())
		}
		if err := s.message(&m); err != nil {
			return err
		}
		i = m.end
	}
	return nil
}

func (s *server) message(m *message) error {
	method, ok := rawjson.Unquote(m.raw(m.method))
	if !ok {
		return s.fault(m.raw(m.id), codeInvalid, notObjectText)
	}
	id := m.raw(m.id)
	began := time.Now()
	result, err := s.answer(method, s.params(m))
	s.slow = time.Since(began) > quickAnswer
	if !m.has(m.id) {
		return nil
	}
	if err != nil {
		return s.write(appendFault(s.out, id, asRPCError(err)))
	}
	return s.write(appendReply(s.out, id, result))
}

func (s *server) params(m *message) json.RawMessage {
	if s.lend && m.params.End > 0 {
		return m.params.Clean(m.line)
	}
	return m.own(s.in, m.params)
}

func (s *server) fault(id []byte, code int, text string) error {
	return s.write(appendFault(s.out, id, &RPCError{Code: code, Message: text}))
}

// write takes over the replies so far. They go out with one write when every request that has come is answered: a host
// with many calls in flight is woken once for all of them, one with a single call at once. After an answer that took its
// time they do not wait for the next, which may as well.
func (s *server) write(replies []byte) error {
	s.out = replies
	if len(replies) < combineMax && !s.slow {
		return nil
	}
	return s.flush()
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

// asRPCError is how an error of our side is told to the other.
func asRPCError(err error) *RPCError {
	var rpc *RPCError
	if errors.As(err, &rpc) {
		return rpc
	}
	return &RPCError{Code: codeInternal, Message: cut(err.Error(), messageCut)}
}
