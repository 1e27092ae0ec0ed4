package daemon

import (
	"encoding/json"
	"fmt"

	"github.com/patchbay-dev/patchbay/adapter/chat"
)

// maxRecord is how large an event may be to be kept whole. A long session's transcript is in the
// trace of every turn's end: kept each time, it would push everything else out of the journal.
const maxRecord = 256 << 10

// payloadTooLong stands for the payload of an event that was larger.
const payloadTooLong = `{"patchbay":"too long to keep"}`

// observer is who watches a turn: the journal, the counters, and the caller.
func (c *Core) observer(caller func(chat.Event)) func(chat.Event) {
	return func(e chat.Event) {
		c.record(e)
		c.count.count(&e)
		c.export(&e)
		if caller != nil {
			caller(e)
		}
	}
}

// record keeps an event. What comes by the piece is left out: the whole of it comes later.
func (c *Core) record(e chat.Event) {
	if e.Type == chat.TextDelta || e.Type == chat.TextHeld || e.Type == chat.ToolOutput {
		return
	}
	if tooLong(e) { // it is not written out only to be thrown away
		e = shortened(e)
	}
	data, err := encodeEvent(e)
	if err == nil && len(data) > maxRecord {
		data, err = encodeEvent(shortened(e))
	}
	if err != nil {
		c.Journal.Drop(string(e.Type), fmt.Errorf("session %s: %w", e.Session, err))
		return
	}
	c.keep(e, data)
}

// keep keeps an event. Traces are looked for by their turn.
func (c *Core) keep(e chat.Event, data json.RawMessage) {
	if e.Type == chat.Point {
		c.Journal.PostTurn(string(e.Type), e.Session, e.Turn, data)
		return
	}
	c.Journal.Post(string(e.Type), e.Session, data)
}

// post keeps an event that is no turn's.
func (c *Core) post(kind, sessionID string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		c.Journal.Drop(kind, err)
		return
	}
	c.Journal.Post(kind, sessionID, data)
}

// tooLong tells of an event, before it is encoded, that it is too long: the end of a turn has the
// whole transcript in it.
func tooLong(e chat.Event) bool {
	return e.Outcome != nil && e.Outcome.Outcome != nil && len(e.Outcome.Payload) > maxRecord
}

func encodeEvent(e chat.Event) (json.RawMessage, error) { return json.Marshal(e) }

// shortened is an event without what made it long. Who was asked, and what they changed, stays.
func shortened(e chat.Event) chat.Event {
	if e.Outcome != nil && e.Outcome.Outcome != nil {
		o := *e.Outcome.Outcome
		o.Payload = json.RawMessage(payloadTooLong)
		o.Steps = append(o.Steps[:0:0], o.Steps...)
		for i := range o.Steps {
			o.Steps[i].Sent, o.Steps[i].Received = nil, nil
		}
		t := o.Trace()
		e.Outcome = &t
	}
	if e.Compaction != nil {
		short := *e.Compaction
		short.Messages = nil
		e.Compaction = &short
	}
	return e
}
