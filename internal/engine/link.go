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
	// attemptWait limits how long one try waits for an answer, or for the next part of it. An
	// answer takes milliseconds. It never comes if the server died or is no longer the leader of
	// its cluster.
	attemptWait = 3 * time.Second
	// patience limits a call whose context has no earlier end. A cluster needs a few seconds to
	// elect a new leader.
	patience = 30 * time.Second
	// The pauses between two tries grow from the first to the last value.
	firstPause, lastPause = 5 * time.Millisecond, 500 * time.Millisecond
)

// A link knows whether there is a connection to the server, and repeats requests after the
// connection was lost.
type link struct {
	trouble func() error      // returns why a request got no answer; nil: not known
	explain func(error) error // adds the cause to the error of a request; nil: adds nothing

	mu     sync.Mutex         // protects the fields below
	up     chan struct{}      // closed while there is a connection
	life   context.Context    // ends when the connection is lost
	cut    context.CancelFunc // ends life
	closed chan struct{}      // closed when the engine is closed
}

func newLink() *link {
	return &link{up: make(chan struct{}), closed: make(chan struct{})}
}

// connected notes that there is a connection. The NATS client calls connected and lost in turn.
func (l *link) connected() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut != nil {
		return
	}
	l.life, l.cut = context.WithCancel(context.Background())
	close(l.up)
}

// lost notes that there is no connection any more.
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

// isConnected reports whether there is a connection now.
func (l *link) isConnected() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.life != nil
}

// wait waits for a connection, and returns a context that ends with it.
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

// do makes a request, and repeats it while it fails for temporary reasons: the connection is lost,
// no server answers, or the cluster is between two leaders. So f must be safe to repeat. do gives
// up when ctx ends, and in any case after some time.
func (l *link) do(ctx context.Context, f func(context.Context) error) error {
	return l.persist(ctx, func(bound context.Context) error {
		return l.attempt(bound, bound, func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, attemptWait)
			defer cancel()
			return f(ctx)
		})
	})
}

// gather makes a request like [link.do], but the answer has many messages, which may take longer
// than attemptWait. It waits as long as messages come. f must end a try itself if no message comes
// for attemptWait, or if the channel over is closed before the first message; see [backing.ask].
func (l *link) gather(ctx context.Context, f func(ctx context.Context, over <-chan struct{}) error) error {
	return l.persist(ctx, func(bound context.Context) error {
		return l.attempt(bound, ctx, func(ctx context.Context) error { return f(ctx, bound.Done()) })
	})
}

// persist repeats a request until there is an answer, or patience is over.
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
			pause.For(ctx, wait/2+rand.N(wait)) // many clients may have lost the same connection
		}
		if ctx.Err() != nil {
			return givenUp(ctx, last)
		}
	}
}

// reason returns why a request got no answer, as far as it is known.
func (l *link) reason(err error) error {
	if l.trouble != nil {
		if why := l.trouble(); why != nil {
			return why
		}
	}
	return err
}

// givenUp says why a request was not tried again: the end of the caller's context or of patience,
// and the last error.
func givenUp(ctx context.Context, last error) error {
	if last == nil || errors.Is(last, context.Canceled) || errors.Is(last, context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w (%w)", context.Cause(ctx), last)
}

// attempt makes a request once, and interrupts it if the connection is lost. bound limits the wait
// for a connection.
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

// passing reports whether an error may be gone at the next try.
func passing(err error) bool {
	for _, e := range []error{
		context.Canceled, context.DeadlineExceeded, // of the attempt; tryAgain checks the caller's own
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
	case 10118, 10119: // the stream or the consumer is offline, on a server that is being replaced
		return true
	}
	return api.Code == 503
}

// unanswered reports whether an error means that the server did not or could not answer.
func unanswered(err error) bool {
	if errors.Is(err, ErrUnavailable) || passing(err) {
		return true
	}
	var api *jetstream.APIError
	return errors.As(err, &api) && api.Code >= 500
}
