package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/patchbay-dev/patchbay/internal/pause"
)

const (
	// attemptWait bounds how long one try of a request goes without an answer, or without the next
	// part of one. Either takes milliseconds; it never comes when the server that had the request
	// died, or lost the lead of its cluster.
	attemptWait = 3 * time.Second
	// patience bounds a call whose context sets no earlier end. Electing a new leader takes a
	// cluster a few seconds.
	patience = 30 * time.Second
	// The pauses between two tries grow from the first to the last.
	firstPause, lastPause = 5 * time.Millisecond, 500 * time.Millisecond
)

// A link knows whether the connection to the server stands, and makes requests outlive its loss.
type link struct {
	trouble func() error      // asked after a request without an answer: what is known about why; nil: nothing
	explain func(error) error // adds to the error of a request what is known about its cause; nil: nothing

	mu     sync.Mutex         // protects the fields below
	up     chan struct{}      // closed while the connection stands
	life   context.Context    // ends when the connection is lost
	cut    context.CancelFunc // ends life
	closed chan struct{}      // closed for good
}

func newLink() *link {
	return &link{up: make(chan struct{}), closed: make(chan struct{})}
}

// connected and lost are told by the connection, in turn.
func (l *link) connected() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut != nil {
		return
	}
	l.life, l.cut = context.WithCancel(context.Background())
	close(l.up)
}

func (l *link) lost() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut == nil {
		return
	}
	l.cut()
	l.life, l.cut = nil, nil
	l.up = make(chan struct{})
}

// close ends every wait.
func (l *link) close() {
	l.lost()
	close(l.closed)
}

// isConnected tells whether there is a connection now.
func (l *link) isConnected() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.life != nil
}

// wait returns the life of the connection once it stands.
func (l *link) wait(ctx context.Context) (context.Context, error) {
	for {
		l.mu.Lock()
		up, life := l.up, l.life
		l.mu.Unlock()
		if life != nil {
			return life, nil
		}
		select {
		case <-up:
		case <-l.closed:
			return nil, ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// do makes a request, again while it fails for reasons that pass: the connection was lost, nobody
// is there to answer, the cluster is between two leaders. So f must be safe to repeat. It gives up
// with ctx, and in any case after a while.
func (l *link) do(ctx context.Context, f func(context.Context) error) error {
	return l.persist(ctx, func(bound context.Context) error {
		return l.attempt(bound, bound, func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, attemptWait)
			defer cancel()
			return f(ctx)
		})
	})
}

// gather is do for an answer of many messages, which takes as long as they come: on a busy machine
// thousands of them take longer than the time in which a dead server has to be noticed. f itself
// ends a try in which none comes for attemptWait, or none at all until over is closed: see
// [backing.ask].
func (l *link) gather(ctx context.Context, f func(ctx context.Context, over <-chan struct{}) error) error {
	return l.persist(ctx, func(bound context.Context) error {
		return l.attempt(bound, ctx, func(ctx context.Context) error { return f(ctx, bound.Done()) })
	})
}

// persist has a request tried, within our patience, until there is an answer.
func (l *link) persist(ctx context.Context, try func(bound context.Context) error) error {
	err := l.tryAgain(ctx, try)
	if err != nil && l.explain != nil {
		return l.explain(err)
	}
	return err
}

func (l *link) tryAgain(ctx context.Context, try func(bound context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, ErrUnavailable)
	defer cancel()
	var last error
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		err := try(ctx)
		if errors.Is(err, nats.ErrConnectionClosed) {
			return ErrClosed
		}
		if err == nil || !passing(err) {
			return err
		}
		if ctx.Err() == nil {
			last = l.reason(err)
			pause.For(ctx, wait/2+rand.N(wait)) // many may have lost the same connection
		}
		if ctx.Err() != nil {
			return givenUp(ctx, last)
		}
	}
}

// reason is why a request got no answer, as well as it is known.
func (l *link) reason(err error) error {
	if l.trouble != nil {
		if why := l.trouble(); why != nil {
			return why
		}
	}
	return err
}

// givenUp says why a request was not tried again: the caller's context, or ours, and what stood in
// the way.
func givenUp(ctx context.Context, last error) error {
	if last == nil || errors.Is(last, context.Canceled) || errors.Is(last, context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w (%w)", context.Cause(ctx), last)
}

// attempt makes a request once, for as long as the connection stands. bound is for the wait until
// it does.
func (l *link) attempt(bound, ctx context.Context, f func(context.Context) error) error {
	life, err := l.wait(bound)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(life, cancel)()
	return f(ctx)
}

// passing tells whether an error may be gone the next time.
func passing(err error) bool {
	for _, e := range []error{
		context.Canceled, context.DeadlineExceeded, // of the attempt; do looks at the caller's own
		nats.ErrTimeout, nats.ErrNoResponders, jetstream.ErrNoStreamResponse, errReplacing,
		nats.ErrDisconnected, nats.ErrConnectionReconnecting, nats.ErrReconnectBufExceeded, nats.ErrStaleConnection,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return false
	}
	switch api.ErrorCode {
	case jetstream.JSErrCodeJetStreamNotEnabled, jetstream.JSErrCodeJetStreamNotEnabledForAccount:
		return false
	case 10118, 10119: // the stream, or the consumer, is offline: on a server that is being replaced
		return true
	}
	return api.Code == 503
}

// unanswered tells whether an error says that the server did not, or could not, do what it was
// asked.
func unanswered(err error) bool {
	if errors.Is(err, ErrUnavailable) || passing(err) {
		return true
	}
	var api *jetstream.APIError
	return errors.As(err, &api) && api.Code >= 500
}
