package wire

import (
	"encoding/json"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// read is the reading goroutine:
//
//	read ─ readAll ─ line ─ message ┬ reply      fills the slot of its call
//	                                ├ request    answered on a goroutine of its own
//	                                └ notes.add  queued for the notifying goroutine
func (p *Peer) read() {
	p.fail(p.readAll())
	if p.notes != nil {
		p.notes.end()
	}
}

// readAll reads until the plugin's output ends, and returns why it did.
func (p *Peer) readAll() error {
	for {
		line, ok, err := p.in.line()
		switch {
		case err != nil:
			p.endless.Store(p.in.over)
			p.tooLarge()
		case ok && line == nil:
			p.endless.Store(false)
			p.tooLargeEnded()
		case ok:
			p.line(line)
		case p.in.err != nil:
			p.line(p.in.last()) // a plugin may exit without a newline after its last message
			return p.in.err
		default:
			if err := p.in.fill(p.r); err != nil {
				return err
			}
		}
	}
}

// line handles every message on a line.
func (p *Peer) line(line []byte) {
	for i := rawjson.Space(line, 0); i < len(line); i = rawjson.Space(line, i) {
		m, err := scanMessage(line, i)
		if err != nil {
			p.opts.garbage(line[i:], err)
			return
		}
		p.message(&m)
		i = m.end
	}
}

func (p *Peer) message(m *message) {
	switch m.kind() {
	case isRequest:
		p.request(m)
	case isNotification:
		if m.deep {
			p.opts.garbage(m.text(), errDeep)
			return
		}
		if p.notes == nil {
			p.opts.noise(NoiseUnasked, m.text(), nil)
			return
		}
		p.notes.add(m, p.in)
	default:
		p.reply(m)
	}
}

// reply gives a reply to its call. A reply whose id fits no call is a noise, because many calls may
// be under way and any of them could be meant.
func (p *Peer) reply(m *message) {
	id, ok := m.callID()
	if ok {
		if s := p.take(id); s != nil {
			p.texts.note(m)
			s.fill(m.outcome(p.in, s.split))
			return
		}
	}
	if m.kind() == isNothing {
		p.opts.garbage(m.text(), errNothing)
		return
	}
	p.opts.noise(p.odd(id, ok), m.text(), m.raw(m.id))
}

// TextIDs reports whether a reply had the id of its request as a string, such as "1" for 1.
func (p *Peer) TextIDs() bool { return p.texts.seen() }

// odd returns the kind of noise of a reply that fits no call.
func (p *Peer) odd(id uint64, ok bool) NoiseKind {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case ok && p.given.take(id):
		return NoiseLate
	case ok && 0 < id && id <= p.last:
		return NoiseDuplicate
	}
	return NoiseWrongID
}

// tooLarge handles a line over the limit, whose beginning is known and whose end may be still to
// come. If the beginning does not have the id of a reply or of a request, tooLargeEnded looks for
// it at the end.
func (p *Peer) tooLarge() {
	head, asks := peek(p.in.head)
	id, ok := head.callID()
	p.atEnd = noID
	switch {
	case asks && head.has(head.id):
		p.tooLargeRequest(head.raw(head.id))
	case asks:
		p.opts.noise(NoiseTooLarge, p.in.head, nil)
		p.atEnd = requestID
	case ok:
		p.oversized(id, ok)
	default:
		p.atEnd = replyID
	}
	if !p.in.over {
		p.tooLargeEnded()
	}
}

// tooLargeEnded is called when a line over the limit has ended.
func (p *Peer) tooLargeEnded() {
	wanted := p.atEnd
	p.atEnd = noID
	id := tailID(p.in.tail)
	switch {
	case wanted == replyID:
		p.oversized(callID(id))
	case wanted == requestID && id != nil: // otherwise it was a notification
		p.answerTooLarge(id)
	}
}

// tooLargeRequest reports a request over the limit, and answers it, because the plugin waits for an
// answer.
func (p *Peer) tooLargeRequest(id []byte) {
	p.opts.noise(NoiseTooLarge, p.in.head, id)
	p.answerTooLarge(id)
}

func (p *Peer) answerTooLarge(id []byte) {
	p.answer(id, nil, &RPCError{Code: codeInvalid, Message: p.in.tooLarge().Error()})
}

// oversized fails the call whose reply was over the limit. If there is no call with that id, the
// line is a noise.
func (p *Peer) oversized(id uint64, ok bool) {
	if ok {
		if s := p.take(id); s != nil {
			s.fill(Result{}, p.in.tooLarge())
			return
		}
	}
	p.opts.noise(NoiseTooLarge, p.in.head, nil)
}

// request answers a request of the plugin.
func (p *Peer) request(m *message) {
	if m.deep {
		p.answer(m.raw(m.id), nil, &RPCError{Code: codeInvalid, Message: errDeep.Error()})
		return
	}
	method, _ := rawjson.Unquote(m.raw(m.method))
	if p.opts.OnRequest == nil {
		p.answer(m.raw(m.id), nil, &RPCError{Code: codeNoMethod, Message: noMethodText})
		return
	}
	select {
	case p.requests <- struct{}{}:
	default:
		p.answer(m.raw(m.id), nil, &RPCError{Code: codeOverload, Message: overloadText})
		return
	}
	id := append([]byte(nil), m.raw(m.id)...)
	params := m.own(p.in, m.params)
	p.work.Go(func() {
		result, err := p.opts.OnRequest(p.ctx, method, params)
		<-p.requests
		p.answer(id, result, err)
	})
}

// answer sends the answer to a request.
func (p *Peer) answer(id []byte, result json.RawMessage, err error) {
	var rpc *RPCError
	if err != nil {
		rpc = asRPCError(err)
	}
	if err := p.out.answer(id, result, rpc); err != nil {
		p.opts.noise(NoiseUnsent, []byte(err.Error()), id)
	}
}
