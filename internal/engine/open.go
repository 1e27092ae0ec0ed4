package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/patchbay-dev/patchbay/internal/pause"
)

// openWait bounds how long Open looks for somebody who answers.
const openWait = 5 * time.Second

// Options say where the engine is. With a URL it is that server or cluster; else it is embedded, on
// Dir.
type Options struct {
	Dir    string // data directory of the embedded engine; several processes may use one
	Socket string // where they share it; "": in Dir, or a private place where that is too long for a socket's path

	URL         string // nats:// tls:// ws:// wss://, several with commas; user, password or token may be in it
	Credentials string // a .creds file
	TLS         TLS

	Replicas int           // of what is made on a cluster; 0: three, or as many as there are servers
	Name     string        // what the server calls this client; "": patchbay
	Remember time.Duration // for how long ids are remembered, in memory; 0: a minute, which is as long as [Append] promises
	Logger   *slog.Logger  // nil discards
}

// TLS names files in PEM form, for tls:// and wss:// servers that want them.
type TLS struct {
	CA   string // who signs the server's certificate; "": the system knows
	Cert string // our certificate, and
	Key  string // its key
}

// An Engine keeps buckets, streams and queues. It is safe for concurrent use.
type Engine struct {
	nc       *nats.Conn
	js       jetstream.JetStream
	link     *link
	node     *node // nil: external
	log      *slog.Logger
	replicas int           // as in Options
	remember time.Duration // likewise
	closing  func() error
}

var _ Store = (*Engine)(nil)

// Open connects to the engine, and starts it where it is embedded and nobody else did.
func Open(ctx context.Context, o Options) (*Engine, error) {
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	e := &Engine{link: newLink(), log: log, replicas: o.Replicas, remember: cmp.Or(o.Remember, dedupWindow)}
	e.link.trouble, e.link.explain = e.trouble, e.explain
	e.closing = sync.OnceValue(e.close)
	for _, step := range []func(context.Context) error{func(ctx context.Context) error { return e.connect(ctx, o) }, e.check} {
		if err := bounded(ctx, step); err != nil {
			return nil, errors.Join(err, e.Close())
		}
	}
	return e, nil
}

// bounded gives each step of Open its own time: a server that has to read a large store first uses
// up that of the first.
func bounded(ctx context.Context, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, openWait, ErrUnavailable)
	defer cancel()
	return step(ctx)
}

// Close leaves the engine. If this process runs it, another one that uses it takes over.
func (e *Engine) Close() error { return e.closing() }

func (e *Engine) close() error {
	e.link.close()
	if e.nc != nil {
		e.nc.Close()
	}
	if e.node != nil {
		return e.node.close()
	}
	return nil
}

// connect makes the connection, embedded or not. What comes after knows no difference.
func (e *Engine) connect(ctx context.Context, o Options) error {
	if o.URL == "" && o.Dir == "" {
		return errors.New("engine: neither a data directory nor a url")
	}
	if o.URL == "" {
		n, err := newNode(o, e.log)
		if err != nil {
			return err
		}
		e.node = n
	}
	opts, err := e.connection(o)
	if err != nil {
		return err
	}
	if e.nc, err = e.dial(ctx, opts); err != nil {
		return err
	}
	if e.node != nil {
		e.node.faults.reconnectWith(e.reconnect)
	}
	e.js, err = jetstream.New(e.nc)
	return err
}

// dial tries until somebody answers: an owner may be on the way out, and the next one on the way
// in.
func (e *Engine) dial(ctx context.Context, opts nats.Options) (*nats.Conn, error) {
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		nc, err := opts.Connect()
		if err == nil {
			return nc, nil
		}
		if !e.mayAnswer(err) || ctx.Err() != nil {
			return nil, e.unreachable(opts, err)
		}
		pause.For(ctx, wait)
	}
}

// mayAnswer tells whether it makes sense to knock again. What is wrong with a directory does not
// mend itself.
func (e *Engine) mayAnswer(err error) bool {
	if e.node == nil {
		return !errors.Is(err, nats.ErrAuthorization)
	}
	_, nodeErr := e.node.status()
	var held *HeldError
	return nodeErr == nil || errors.As(nodeErr, &held)
}

// unreachable says why nobody answered: where a directory is shared, the node knows more than the
// connection.
func (e *Engine) unreachable(opts nats.Options, err error) error {
	if e.node == nil {
		return fmt.Errorf("engine %s: %w: %w: is it running, and is engine.url right?", hosts(opts.Servers), ErrUnavailable, err)
	}
	if _, nodeErr := e.node.status(); nodeErr != nil {
		return nodeErr
	}
	// Somebody took the call and said nothing.
	return &HeldError{Dir: e.node.dir, PID: holder(e.node.dir), Err: err}
}

// check makes sure that there is a store behind the connection.
func (e *Engine) check(ctx context.Context) error {
	var info *jetstream.AccountInfo
	err := e.link.do(ctx, func(ctx context.Context) (err error) {
		info, err = e.js.AccountInfo(ctx)
		return err
	})
	if errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) ||
		errors.Is(err, nats.ErrNoResponders) {
		return fmt.Errorf("engine %s: JetStream is not enabled there for this account: %w", e.Status().Address, err)
	}
	if err != nil {
		return fmt.Errorf("engine %s: %w", e.Status().Address, err)
	}
	if info.API.Level < 1 { // 2.11 brought many messages for one request, and messages that go by themselves
		return fmt.Errorf("engine %s: nats-server %s is too old: 2.11 or later is needed", e.Status().Address, e.Status().Version)
	}
	return nil
}

// trouble is what is known about a request that got no answer.
func (e *Engine) trouble() error {
	if e.node == nil {
		return nil
	}
	_, err := e.node.status()
	return err
}

// reconnect has the connection dial anew, which replaces a server that can not write any more. It does
// not wait.
func (e *Engine) reconnect() {
	go func() {
		if err := e.nc.ForceReconnect(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
			e.log.Warn("engine: dialing anew", "err", err)
		}
	}()
}

// A Mode is this process's part in an engine.
type Mode string

// The modes.
const (
	Owner    Mode = "owner"    // embedded, and the server runs in this process
	Guest    Mode = "guest"    // embedded, and the server runs in another process
	External Mode = "external" // a server or a cluster elsewhere
)

// A Status says where the engine is, for a person to read.
type Status struct {
	Mode      Mode
	Address   string // the data directory, or the server; no secrets
	PID       int    // the process that runs an embedded engine; 0: not known
	Connected bool
	Version   string // of the server
	Err       error  // why it is not connected, where that is known
}

// Status says where the engine is now. The owner of a data directory can change any time.
func (e *Engine) Status() Status {
	s := Status{Mode: External}
	if e.nc != nil && e.link.isConnected() {
		s.Connected, s.Address, s.Version = true, e.nc.ConnectedUrlRedacted(), e.nc.ConnectedServerVersion()
	}
	if e.node == nil {
		return s
	}
	s.Mode, s.Address, s.PID = Guest, e.node.dir, holder(e.node.dir)
	owner, err := e.node.status()
	if owner {
		s.Mode = Owner
	}
	if !s.Connected {
		s.Err = err
	}
	return s
}
