package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/fixes"
)

// A Route leads to one recipient of messages, such as a [[notifiers]] entry of an agent.
type Route struct {
	Name    string // unique and stable within the agent: rate limits are stored under it
	Sender  Sender
	Every   time.Duration // rate_limit_minutes; 0: no limit
	Timeout time.Duration // of one message with all its tries; 0: that of the dispatch
}

// A Result says what happened to a message.
type Result string

// The results.
const (
	Sent       Result = "sent"
	Failed     Result = "failed"
	Suppressed Result = "suppressed" // by its rate limit
	Dropped    Result = "dropped"    // too many were waiting, or the host ended first
)

// A Delivery is a message and its result.
type Delivery struct {
	Route    string
	Message  Message
	Result   Result
	Err      error // why it failed or was dropped
	Duration time.Duration
}

// Counts are the numbers of messages by result. Waiting counts those that have no result yet.
type Counts struct {
	Sent       int `json:"sent"`
	Failed     int `json:"failed"`
	Suppressed int `json:"suppressed"`
	Dropped    int `json:"dropped"`
	Waiting    int `json:"waiting"`
}

// DispatchOptions are the options of [NewDispatch]. The zero value works.
type DispatchOptions struct {
	Limiter  *Limiter       // nil: one in memory
	Waiting  int            // maximum number of messages that wait or are being sent; 0: 256
	Parallel int            // messages that are sent at the same time; 0: 8
	Timeout  time.Duration  // of one message with all its tries; 0: a minute, which is enough for three tries
	Observe  func(Delivery) // called with every result, by several goroutines; must be quick; may be nil
	Logger   *slog.Logger   // nil discards
}

// A Dispatch sends messages in the background, best effort. Callers never wait for it, and a
// failure never reaches a run. Failures are logged and counted.
//
// The messages of one schedule of an agent through one route are sent one after another, so that
// "given up" does not overtake "attempt 3 failed". A Dispatch is safe for concurrent use.
type Dispatch struct {
	o      DispatchOptions
	ctx    context.Context // for every sending; ends when the context of Close does
	cancel context.CancelFunc
	slots  chan struct{}  // limits how many messages are sent at the same time
	lines  sync.WaitGroup // the goroutines of sendLine

	mu     sync.Mutex                 // protects the fields below
	queues map[string][]queuedMessage // waiting messages, by line; a line has a goroutine as long as its key is present
	counts Counts
	closed bool
}

// A queuedMessage is a message and its route.
type queuedMessage struct {
	route Route
	m     Message
}

// line returns the key of the queuedMessage's line. The messages of a line are sent one after
// another and share a rate limit.
func (p queuedMessage) line() string {
	return strings.Join([]string{p.m.Agent, p.m.Schedule, p.route.Name}, "\x00")
}

// NewDispatch makes a dispatch. It starts no goroutine: each line has one only while it has
// messages.
func NewDispatch(o DispatchOptions) *Dispatch {
	if o.Limiter == nil {
		o.Limiter = NewLimiter(InMemory(), nil)
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Waiting = cmp.Or(o.Waiting, 256)
	o.Timeout = cmp.Or(o.Timeout, time.Minute)
	d := &Dispatch{o: o, slots: make(chan struct{}, cmp.Or(o.Parallel, 8)), queues: make(map[string][]queuedMessage)}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d
}

// The reasons for which a message is dropped.
var (
	errFull   = errors.New("too many notifications are waiting")
	errClosed = errors.New("the host ended before it was sent")
)

// Send queues a message for each of the routes, and returns at once.
func (d *Dispatch) Send(m Message, routes ...Route) {
	for _, r := range routes {
		p := queuedMessage{r, m}
		if err := d.enqueue(p); err != nil {
			d.report(p, p.delivery(Dropped, err))
		}
	}
}

// enqueue puts a message at the end of its line. If it cannot, it counts the message as dropped.
func (d *Dispatch) enqueue(p queuedMessage) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.refusal(); err != nil {
		d.counts.Dropped++
		return err
	}
	line := p.line()
	waiting, served := d.queues[line]
	d.queues[line] = append(waiting, p)
	d.counts.Waiting++
	if !served {
		d.lines.Go(func() { d.sendLine(line) })
	}
	return nil
}

// refusal returns why no message can be queued now, or nil. The caller holds d.mu.
func (d *Dispatch) refusal() error {
	switch {
	case d.closed:
		return errClosed
	case d.counts.Waiting >= d.o.Waiting:
		return errFull
	}
	return nil
}

// sendLine sends the messages of a line until none is left.
func (d *Dispatch) sendLine(line string) {
	for {
		p, ok := d.next(line)
		if !ok {
			return
		}
		d.slots <- struct{}{}
		end := d.deliver(p)
		<-d.slots
		d.count(end.Result)
		d.report(p, end)
	}
}

// next takes the first message of a line. If there is none, it removes the line.
func (d *Dispatch) next(line string) (queuedMessage, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	waiting := d.queues[line]
	if len(waiting) == 0 {
		delete(d.queues, line)
		return queuedMessage{}, false
	}
	d.queues[line] = waiting[1:]
	return waiting[0], true
}

// deliver sends one message, if its rate limit allows.
func (d *Dispatch) deliver(p queuedMessage) Delivery {
	if d.ctx.Err() != nil {
		return p.delivery(Dropped, errClosed)
	}
	ctx, cancel := context.WithTimeout(d.ctx, cmp.Or(p.route.Timeout, d.o.Timeout))
	defer cancel()
	q := LimitRequest{Key: p.line(), Event: p.m.Event, Every: p.route.Every}
	answer, err := d.o.Limiter.Allow(ctx, q)
	if err != nil {
		d.log(p).Warn("cannot read the rate limit of a notifier; sending the message", "err", err)
	}
	if !answer.Send {
		return p.delivery(Suppressed, nil)
	}
	p.m.Suppressed, p.m.Since = answer.Suppressed, answer.Since
	end := d.send(ctx, p)
	if end.Result != Sent {
		return end
	}
	if err := d.o.Limiter.RecordSent(ctx, q, answer); err != nil {
		d.log(p).Warn("cannot store the rate limit of a notifier", "err", err)
	}
	return end
}

func (d *Dispatch) send(ctx context.Context, p queuedMessage) Delivery {
	start := time.Now()
	err := p.route.Sender.Send(ctx, p.m)
	end := p.delivery(Sent, nil)
	if err != nil {
		end = p.delivery(Failed, err)
	}
	end.Duration = time.Since(start)
	return end
}

func (p queuedMessage) delivery(result Result, err error) Delivery {
	return Delivery{Route: p.route.Name, Message: p.m, Result: result, Err: err}
}

// count records the result of a message that was waiting.
func (d *Dispatch) count(result Result) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counts.Waiting--
	switch result {
	case Sent:
		d.counts.Sent++
	case Failed:
		d.counts.Failed++
	case Suppressed:
		d.counts.Suppressed++
	case Dropped:
		d.counts.Dropped++
	}
}

// report logs a failure and calls Observe.
func (d *Dispatch) report(p queuedMessage, end Delivery) {
	if end.Err != nil {
		text, fix := fixes.Split(end.Err)
		if _, builtIn := p.route.Sender.(Notifier); builtIn && fix == "" {
			fix = "`patchbay job doctor --reach` checks the notifiers"
		}
		attrs := []any{"dur", end.Duration, "err", text}
		if fix != "" {
			attrs = append(attrs, "fix", fix)
		}
		d.log(p).Warn("notification not sent", attrs...)
	}
	if d.o.Observe != nil {
		d.o.Observe(end)
	}
}

func (d *Dispatch) log(p queuedMessage) *slog.Logger {
	return d.o.Logger.With("agent", p.m.Agent, "notifier", p.route.Name, "event", p.m.Event)
}

// Counts returns the numbers of messages by result so far.
func (d *Dispatch) Counts() Counts {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counts
}

// Close accepts no further messages and waits until the queued ones are sent. If ctx ends first,
// Close aborts the sending and drops the rest; the error then says how many messages were lost. A
// second Close waits for the same messages.
func (d *Dispatch) Close(ctx context.Context) error {
	d.mu.Lock()
	d.closed = true
	before := d.counts
	d.mu.Unlock()

	drained := make(chan struct{})
	go func() { // ends with the last line; both branches below wait for it
		defer close(drained)
		d.lines.Wait()
	}()
	select {
	case <-drained:
		d.cancel()
		return nil
	case <-ctx.Done():
	}
	d.cancel()
	<-drained // every Sender ends with its context
	after := d.Counts()
	if lost := after.Dropped + after.Failed - before.Dropped - before.Failed; lost > 0 {
		return fmt.Errorf("%d notifications were not sent: %w", lost, errClosed)
	}
	return nil
}
