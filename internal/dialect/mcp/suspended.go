package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/mcpcall"
	"github.com/patchbay-dev/patchbay/internal/wire"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A server of the handshake kind asks questions in the middle of a call. A client of the modern
// kind cannot be asked in this way: it gets an answer that contains the questions, and repeats its
// request with the answers to them. Until then the call to the server waits here. See
// docs/protocols/mcp.md, row C30.

const (
	suspendTime   = 10 * time.Minute // for a client to repeat its request
	mostSuspended = 64               // calls that wait for a client
)

// askable lists the requests during which a client can be asked.
var askable = []string{"tools/call", "prompts/get", "resources/read"}

// A suspended call waits for answers of its client.
type suspended struct {
	ctx       context.Context // of the call to the server
	cancel    context.CancelFunc
	questions chan *question
	done      chan outcome // buffered: one

	mu     sync.Mutex           // protects the fields below
	caller *mcpcall.Caller      // the client's latest request
	open   map[string]*question // questions that were sent to the client, by id
	last   int
}

type question struct {
	id, method string
	params     json.RawMessage
	answer     chan json.RawMessage // buffered: one
}

type outcome struct {
	result json.RawMessage
	err    error
}

// suspensions holds the calls of a plugin that wait for a client, by their requestState.
type suspensions struct {
	mu  sync.Mutex // protects the field below
	all map[string]*suspended
}

// crosses reports whether a call goes from a modern client to a server of the handshake kind.
func crosses(l *link, caller *mcpcall.Caller, method string) bool {
	return l.era == handshake && caller != nil && caller.Modern && slices.Contains(askable, method)
}

// callOrContinue starts a call from a modern client to a server of the handshake kind, or continues
// such a call that is suspended.
func (p *plugin) callOrContinue(ctx context.Context, l *link, method string, params rawjson.Object) (json.RawMessage, error) {
	caller := mcpcall.From(ctx)
	if caller.State == "" {
		return p.wait(ctx, p.suspend(l, caller, method, params))
	}
	s := p.waiting.take(caller.State)
	if s == nil {
		return nil, &wire.RPCError{Code: codeBadParams, Message: "unknown requestState: the call is over, or was given up"}
	}
	s.resume(caller)
	return p.wait(ctx, s)
}

// suspend starts a call that can wait for its client.
func (p *plugin) suspend(l *link, caller *mcpcall.Caller, method string, params rawjson.Object) *suspended {
	s := &suspended{caller: caller, questions: make(chan *question), done: make(chan outcome, 1), open: make(map[string]*question)}
	s.ctx, s.cancel = context.WithTimeout(p.ctx, suspendTime)
	stand := &mcpcall.Caller{Modern: true, Meta: caller.Meta, Capabilities: caller.Capabilities, Ask: s.ask,
		Log: s.log}
	if caller.Progress != nil {
		stand.Progress = s.progress
	}
	p.spawn(func() {
		defer s.cancel()
		result, err := l.call(mcpcall.With(s.ctx, stand), method, params)
		s.done <- outcome{result, err}
	})
	return s
}

func (s *suspended) now() *mcpcall.Caller {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.caller
}

// progress passes on progress under the token of the client's latest request.
func (s *suspended) progress(params json.RawMessage) {
	caller := s.now()
	o, err := rawjson.Parse(params)
	meta, metaErr := rawjson.Parse(caller.Meta)
	if err == nil && metaErr == nil && caller.Progress != nil && meta.Get(mcpcall.MetaProgress) != nil {
		caller.Progress(o.With(field(mcpcall.MetaProgress, meta.Get(mcpcall.MetaProgress))).JSON())
	}
}

// log passes on a log message.
func (s *suspended) log(params json.RawMessage) {
	if caller := s.now(); caller.Log != nil {
		caller.Log(params)
	}
}

// capabilityFor has the capability that a client needs for each question.
var capabilityFor = map[string]string{"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}

// ask sends a question to the client, and waits until it repeats its request with an answer.
func (s *suspended) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	can, err := rawjson.Parse(s.now().Capabilities)
	if err != nil || len(can.Get(capabilityFor[method])) == 0 {
		return nil, &wire.RPCError{Code: codeNoMethod, Message: "the client cannot be asked for " + method}
	}
	if len(params) == 0 {
		params = json.RawMessage("{}")
	}
	s.mu.Lock()
	s.last++
	q := &question{id: fmt.Sprintf("question-%d", s.last), method: method, params: params, answer: make(chan json.RawMessage, 1)}
	s.mu.Unlock()
	select {
	case s.questions <- q:
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
	select {
	case answer := <-q.answer:
		return answer, nil
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// resume delivers the answers in a repeated request.
func (s *suspended) resume(caller *mcpcall.Caller) {
	inputs, err := rawjson.Parse(caller.Inputs)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.caller = caller
	for id, q := range s.open {
		if answer := inputs.Get(id); err == nil && len(answer) > 0 {
			q.answer <- answer
			delete(s.open, id)
		}
	}
}

// wait returns the result of a call, or the questions that the client has to answer first.
func (p *plugin) wait(ctx context.Context, s *suspended) (json.RawMessage, error) {
	if pending := s.asks(nil); pending != nil {
		return p.waiting.put(s, pending) // the client has not answered all questions
	}
	select {
	case r := <-s.done:
		return r.result, r.err
	case q := <-s.questions:
		return p.waiting.put(s, s.asks(q))
	case <-ctx.Done():
		s.cancel()
		return nil, fmt.Errorf("no reply: %w", ctx.Err())
	case <-p.ctx.Done():
		return nil, errors.New("it is being shut down")
	}
}

// asks adds one to the open questions, unless it is nil, and returns all open questions for the
// client; nil: there are none.
func (s *suspended) asks(one *question) rawjson.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one != nil {
		s.open[one.id] = one
	}
	var out rawjson.Object
	for id, q := range s.open {
		out = append(out, field(id, fmt.Appendf(nil, `{"method":%s,"params":%s}`, rawjson.String(q.method), q.params)))
	}
	return out
}

// put stores a call until its client repeats the request.
func (w *suspensions) put(s *suspended, asks rawjson.Object) (json.RawMessage, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for state, other := range w.all {
		if other.ctx.Err() != nil {
			delete(w.all, state)
		}
	}
	if len(w.all) >= mostSuspended {
		s.cancel()
		return nil, &wire.RPCError{Code: codeInternal, Message: "too many calls wait for their clients"}
	}
	state := rand.Text() // a secret between host and client
	if w.all == nil {
		w.all = make(map[string]*suspended)
	}
	w.all[state] = s
	return rawjson.Object{field("resultType", json.RawMessage(`"input_required"`)), field("inputRequests", asks.JSON()),
		field("requestState", rawjson.String(state))}.JSON(), nil
}

func (w *suspensions) take(state string) *suspended {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.all[state]
	delete(w.all, state)
	return s
}
