package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/patchbay-dev/patchbay/internal/pause"
)

const (
	defaultAckWait = 30 * time.Second
	// takeWait limits one request for an item. While the queue is empty, one request follows
	// another.
	takeWait = 30 * time.Second
	// workers is the place in the stream that all takers share.
	workers = "workers"
)

// Queue opens a queue, and creates it if necessary.
func (e *Engine) Queue(ctx context.Context, c QueueConfig) (Queue, error) {
	if err := checkName(c.Name); err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	if c.AckWait == 0 {
		c.AckWait = defaultAckWait
	}
	if c.Dedup == 0 {
		c.Dedup = e.remember
	}
	subject := subjectPrefix + "queue." + c.Name
	b, err := e.ensure(ctx, jetstream.StreamConfig{
		Name:              streamPrefix + "queue_" + c.Name,
		Subjects:          []string{subject},
		Retention:         jetstream.WorkQueuePolicy, // an item that is done is deleted
		MaxMsgsPerSubject: -1,
		Duplicates:        c.Dedup,
		AllowDirect:       true,
	})
	if err != nil {
		return nil, err
	}
	done, err := e.bucket(ctx, BucketConfig{Name: "queue_" + c.Name + "_done", TTL: c.Dedup}, 0)
	if err != nil {
		return nil, err
	}
	q := &queue{backing: b, config: c, subject: subject, done: done}
	return q, q.join(ctx)
}

type queue struct {
	*backing
	config   QueueConfig
	subject  string
	consumer jetstream.Consumer

	// done has the ids of items that are done. The server remembers ids too, but after a restart
	// only those of items that it still has.
	done Bucket
}

// join creates the place that all takers share.
func (q *queue) join(ctx context.Context) error {
	return q.link.do(ctx, func(ctx context.Context) (err error) {
		q.consumer, err = q.stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
			Durable:       workers,
			AckPolicy:     jetstream.AckExplicitPolicy,
			AckWait:       q.config.AckWait,
			MaxDeliver:    -1, // no limit: Take drops such items, which the server would keep and no longer deliver
			MaxAckPending: -1,
		})
		return err
	})
}

// Put implements [Queue].
func (q *queue) Put(ctx context.Context, item Item) error {
	if done, err := q.isDone(ctx, item.ID); done || err != nil {
		return err
	}
	_, err := q.publish(ctx, write{subject: q.subject, data: item.Data, id: item.ID})
	return err
}

func (q *queue) isDone(ctx context.Context, id string) (bool, error) {
	if id == "" {
		return false, nil
	}
	_, err := q.done.Get(ctx, messageID(id))
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Take implements [Queue].
func (q *queue) Take(ctx context.Context) (*Job, error) {
	for {
		msg, err := q.next(ctx)
		if err != nil {
			return nil, err
		}
		job, err := q.job(msg)
		if err != nil {
			return nil, err
		}
		if keep, err := q.shouldRun(ctx, job); keep || err != nil {
			return job, err
		}
	}
}

// next waits for a message.
func (q *queue) next(ctx context.Context) (jetstream.Msg, error) {
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		msg, err := q.ask(ctx)
		switch {
		case err == nil:
			return msg, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, nats.ErrTimeout), errors.Is(err, jetstream.ErrNoMessages):
			wait = firstPause // an empty queue is not an error
		case errors.Is(err, ErrClosed), errors.Is(err, nats.ErrConnectionClosed):
			return nil, ErrClosed
		case errors.Is(err, jetstream.ErrConsumerNotFound), errors.Is(err, jetstream.ErrConsumerDeleted):
			if err := q.join(ctx); err != nil && !errors.Is(err, ErrUnavailable) {
				return nil, err
			}
		}
		pause.For(ctx, wait)
	}
}

// ask asks for a message once, and gives up if the connection is lost.
func (q *queue) ask(ctx context.Context) (jetstream.Msg, error) {
	life, err := q.link.wait(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, takeWait)
	defer cancel()
	defer context.AfterFunc(life, cancel)()
	return q.consumer.Next(jetstream.FetchContext(ctx))
}

func (q *queue) job(msg jetstream.Msg) (*Job, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return nil, err
	}
	j := &Job{Data: msg.Data(), Deliveries: int(meta.NumDelivered), queue: q, reply: msg.Reply()}
	if id := msg.Headers().Get(nats.MsgIdHdr); !isGenerated(id) {
		j.id = id
	}
	return j, nil
}

// shouldRun reports whether a job must be done. It drops a job that is already done, or that was
// taken too often.
func (q *queue) shouldRun(ctx context.Context, j *Job) (bool, error) {
	if j.id != "" {
		_, err := q.done.Get(ctx, j.id)
		if err == nil {
			return false, j.Drop(ctx)
		}
		if !errors.Is(err, ErrNotFound) {
			return false, err
		}
	}
	if most := q.config.MaxDeliver; most > 0 && j.Deliveries > most {
		q.engine.log.Warn("engine: dropped a job that no worker could do", "queue", q.config.Name, "deliveries", j.Deliveries-1)
		return false, j.Drop(ctx)
	}
	return true, nil
}

// Len implements [Queue].
func (q *queue) Len(ctx context.Context) (int, error) {
	state, err := q.state(ctx)
	return int(state.Msgs), err
}

// Ack marks the job as done. When it returns nil, no other taker gets it.
func (j *Job) Ack(ctx context.Context) error {
	if j.id != "" { // first: if this process dies in between, the next taker sees that it is done
		if _, err := j.queue.done.Put(ctx, j.id, nil); err != nil {
			return err
		}
	}
	return j.answer(ctx, "+ACK")
}

// Nak gives the job back, to be taken again after a delay.
func (j *Job) Nak(ctx context.Context, delay time.Duration) error {
	return j.answer(ctx, fmt.Sprintf(`-NAK {"delay": %d}`, max(delay, 0).Nanoseconds()))
}

// Drop removes a job that was not done. No other taker gets it.
func (j *Job) Drop(ctx context.Context) error { return j.answer(ctx, "+TERM") }

// answer sends an answer about the job to the server, and waits until it has arrived. Sending it
// twice does no harm.
func (j *Job) answer(ctx context.Context, what string) error {
	return j.queue.link.do(ctx, func(ctx context.Context) error {
		_, err := j.queue.engine.nc.RequestWithContext(ctx, j.reply, []byte(what))
		return err
	})
}
