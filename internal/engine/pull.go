package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// A follower asks for at most this many messages, and this many bytes, at a time. The bytes
	// must be more than the largest message.
	pullMessages, pullBytes = 128, 3 * maxValue
	// pullExpires is when the server ends a request that is not fulfilled. It is at least two
	// heartbeats.
	pullExpires = 30 * time.Second
	// headerLastPlace, in a heartbeat, says how many messages the server has sent from a place.
	headerLastPlace = "Nats-Last-Consumer"
	// headerLeft is in the status of a request that ended by its own limits, and not because its
	// place is gone.
	headerLeft = "Nats-Pending-Messages"
)

// A pull gets the messages of a follower's place: it asks for some, and asks again when it has
// taken them all.
//
// The channel has room for more than the server sends for two requests: the messages, a status at
// the end, and the heartbeats until the request expires. If it were full, the connection would
// silently drop messages. So it must never be full, however slow the follower is. The count of the
// place is checked too; see [pull.count].
type pull struct {
	*backing
	place     string // the server's name for it
	heartbeat time.Duration

	sub      *nats.Subscription
	messages chan *nats.Msg
	inbox    string // the prefix of the requests' inboxes
	requests int
	left     int    // how many messages the current request may still bring
	bytes    int    // the same in bytes
	taken    uint64 // how many messages were taken from the place
}

// errLost reports that a message of the server did not arrive, or that the place is not the same as
// before.
var errLost = errors.New("messages are missing")

func (b *backing) pull(place string, heartbeat time.Duration) (*pull, error) {
	most := 2 * (pullMessages + int(pullExpires/heartbeat) + 2)
	p := &pull{backing: b, place: place, heartbeat: heartbeat, messages: make(chan *nats.Msg, most), inbox: b.engine.nc.NewInbox()}
	sub, err := b.engine.nc.ChanSubscribe(p.inbox+".*", p.messages)
	if err != nil {
		return nil, err
	}
	p.sub = sub
	return p, nil
}

// close ends the subscription. It fails only if the connection is lost, and the subscription with
// it.
func (p *pull) close() { _ = p.sub.Unsubscribe() }

// next waits for the next message. After an error the place cannot be used any more.
func (p *pull) next(ctx context.Context) (*nats.Msg, error) {
	for {
		if p.left <= 0 || p.bytes <= 0 {
			if err := p.ask(); err != nil {
				return nil, err
			}
		}
		msg, err := p.receive(ctx)
		if err != nil {
			return nil, err
		}
		if p.engine.replacing() {
			return nil, errReplacing
		}
		if msg.Header.Get(headerStatus) == "" || msg.Reply != "" {
			return msg, p.count(msg)
		}
		if err := p.status(msg); err != nil {
			return nil, err
		}
	}
}

// A pullRequest is the server's request for messages of a place.
type pullRequest struct {
	Batch     int           `json:"batch"`
	MaxBytes  int           `json:"max_bytes"`
	Expires   time.Duration `json:"expires"`
	Heartbeat time.Duration `json:"idle_heartbeat"`
}

// ask asks for more messages. Each request has its own inbox, so that its statuses are not confused
// with those of the one before.
func (p *pull) ask() error {
	text, err := json.Marshal(pullRequest{Batch: pullMessages, MaxBytes: pullBytes, Expires: pullExpires, Heartbeat: p.heartbeat})
	if err != nil {
		return err
	}
	p.requests++
	p.left, p.bytes = pullMessages, pullBytes
	return p.engine.nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+p.name+"."+p.place, p.reply(), text)
}

// reply returns the inbox of the current request.
func (p *pull) reply() string { return p.inbox + "." + strconv.Itoa(p.requests) }

// receive waits for anything that the server sends. It gives up after two missing heartbeats.
func (p *pull) receive(ctx context.Context) (*nats.Msg, error) {
	silence := time.NewTimer(2*p.heartbeat + p.heartbeat/2)
	defer silence.Stop()
	select {
	case msg, ok := <-p.messages:
		if !ok {
			return nil, nats.ErrConnectionClosed
		}
		return msg, nil
	case <-silence.C:
		return nil, nats.ErrTimeout
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// count checks that a message is the next one of its place. The server numbers the messages of a
// place without gaps, whatever their numbers in the stream are.
func (p *pull) count(msg *nats.Msg) error {
	meta, err := msg.Metadata()
	if err != nil {
		return err
	}
	if meta.Sequence.Consumer != p.taken+1 {
		return fmt.Errorf("%w: message %d of the server came after message %d", errLost, meta.Sequence.Consumer, p.taken)
	}
	p.taken++
	p.left--
	p.bytes -= msg.Size()
	return nil
}

// status handles a status that was sent instead of a message.
func (p *pull) status(msg *nats.Msg) error {
	current := msg.Subject == p.reply()
	switch status := msg.Header.Get(headerStatus); {
	case status == "100":
		return p.beat(msg)
	case !current: // the end of a request that was fulfilled
		return nil
	case status == "408", status == "409" && msg.Header.Get(headerLeft) != "":
		p.left = 0 // the request has ended: it expired or reached its limits
		return nil
	default:
		return fmt.Errorf("the place is gone: status %.20q %.80q", status, msg.Header.Get("Description"))
	}
}

// beat compares how many messages the server has sent with how many have come. So a lost message is
// noticed also if no other follows it.
func (p *pull) beat(msg *nats.Msg) error {
	sent := msg.Header.Get(headerLastPlace)
	if n, err := strconv.ParseUint(sent, 10, 64); err != nil || n != p.taken {
		return fmt.Errorf("%w: the server has sent %.20q messages, and %d came", errLost, sent, p.taken)
	}
	return nil
}
