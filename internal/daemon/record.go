package daemon

import (
	"encoding/json"
	"fmt"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// maxRecord is the size up to which an event is stored whole. The trace of each turn's end contains
// the transcript of the session, which would soon push all other events out of the journal.
const maxRecord = 256 << 10

// payloadTooLong replaces the payload of a larger event.
const payloadTooLong = `{"patchbay":"too long to keep"}`

// observer returns the observer of a turn: it passes each event to the journal, the metrics, the
// export and the caller.
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

// record stores an event. It skips pieces of text and output, because a later event has the whole.
func (c *Core) record(e chat.Event) {
	if e.Type == chat.TextDelta || e.Type == chat.TextHeld || e.Type == chat.ToolOutput {
		return
	}
	if tooLong(e) { // avoids encoding a payload that is not stored
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
	c.writeToJournal(e, data)
}

// writeToJournal writes an event to the journal, without secrets that a plugin may have repeated.
// Traces are indexed by turn.
func (c *Core) writeToJournal(e chat.Event, data json.RawMessage) {
	data = c.secrets().CleanJSON(data)
	if e.Type == chat.Point {
		c.Journal.PostTurn(string(e.Type), e.Session, e.Turn, data)
		return
	}
	c.Journal.Post(string(e.Type), e.Session, data)
}

// post stores an event that belongs to no turn.
func (c *Core) post(kind, sessionID string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		c.Journal.Drop(kind, err)
		return
	}
	c.Journal.Post(kind, sessionID, c.secrets().CleanJSON(data))
}

// secrets returns the secrets that must not be stored.
func (c *Core) secrets() *pluginhost.Hidden { return (*c.hidden.Load())() }

// tooLong reports, before the event is encoded, whether it is too long. The end of a turn has the
// whole transcript.
func tooLong(e chat.Event) bool {
	return e.Outcome != nil && e.Outcome.Outcome != nil && len(e.Outcome.Payload) > maxRecord
}

func encodeEvent(e chat.Event) (json.RawMessage, error) { return json.Marshal(e) }

// shortened returns an event without its large parts. It still tells which plugins were asked and
// what they changed.
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
