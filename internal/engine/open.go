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

// openWait limits how long Open waits for a server.
const openWait = 5 * time.Second

// Options are the options of [Open]. With a URL the engine is that server or cluster; otherwise it
// is embedded, in Dir.
type Options struct {
	Dir    string // data directory of the embedded engine; several processes may share it
	Socket string // the socket through which they share it; "": in Dir, or in a private directory if that path is too long for a socket

	URL         string // nats://, tls://, ws:// or wss://, several separated by commas; may contain user, password or token
	Credentials string // a .creds file
	TLS         TLS

	Replicas int           // copies of streams that are created on a cluster; 0: three, or as many as there are servers
	Name     string        // the name of this client on the server; "": patchbay
	Remember time.Duration // how long ids are remembered, in memory; 0: a minute, which [Append] promises
	Logger   *slog.Logger  // nil discards
}

// TLS names PEM files, for tls:// and wss:// servers that require them.
type TLS struct {
	CA   string // the authority that signs the server's certificate; "": one that the system trusts
	Cert string // our certificate
	Key  string // its key
}

// An Engine stores buckets, streams and queues. It is safe for concurrent use.
type Engine struct {
	nc       *nats.Conn
	js       jetstream.JetStream
	link     *link
	node     *node // nil: external
	log      *slog.Logger
	replicas int           // as in Options
	remember time.Duration // as in Options
	closing  func() error
}

var _ Store = (*Engine)(nil)

// Open connects to the engine. If it is embedded and no process runs it, Open starts it.
func Open(ctx context.Context, o Options) (*Engine, error) {
	log := cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
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

// bounded gives each step of Open its own time limit, because a server that must first read a large
// store uses up the first one.
func bounded(ctx context.Context, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, openWait, ErrUnavailable)
	defer cancel()
	return step(ctx)
}

// Close leaves the engine. If this process runs the server, another process that uses it takes
// over.
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

// connect establishes the connection, embedded or external. The rest of the package does not
// distinguish them.
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

// dial tries until a server answers: one owner may be ending, and the next one starting.
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

// mayAnswer reports whether another try may succeed. A problem with the directory does not go away
// by itself.
func (e *Engine) mayAnswer(err error) bool {
	if e.node == nil {
		return !errors.Is(err, nats.ErrAuthorization)
	}
	_, nodeErr := e.node.status()
	var held *HeldError
	return nodeErr == nil || errors.As(nodeErr, &held)
}

// unreachable says why no server answered. For a shared directory the node knows more than the
// connection.
func (e *Engine) unreachable(opts nats.Options, err error) error {
	if e.node == nil {
		return fmt.Errorf("engine %s: %w: %w: is it running, and is engine.url right?", hosts(opts.Servers), ErrUnavailable, err)
	}
	if _, nodeErr := e.node.status(); nodeErr != nil {
		return nodeErr
	}
	// Another process accepted the connection and sent nothing.
	return &HeldError{Dir: e.node.dir, PID: holder(e.node.dir), Err: err}
}

// check makes sure that the server has a store.
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
	if info.API.Level < 1 { // 2.11 introduced many messages for one request, and messages that expire
		return fmt.Errorf("engine %s: nats-server %s is too old: 2.11 or later is needed", e.Status().Address, e.Status().Version)
	}
	return nil
}

// trouble returns what is known about the cause if a request got no answer.
func (e *Engine) trouble() error {
	if e.node == nil {
		return nil
	}
	_, err := e.node.status()
	return err
}

// reconnect makes the connection dial again, which replaces a server that can no longer write. It
// does not wait.
func (e *Engine) reconnect() {
	go func() {
		if err := e.nc.ForceReconnect(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
			e.log.Warn("engine: cannot dial again", "err", err)
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

// A Status describes the engine, for people.
type Status struct {
	Mode      Mode
	Address   string // the data directory or the server; no secrets
	PID       int    // the process that runs an embedded engine; 0: not known
	Connected bool
	Version   string // of the server
	Err       error  // why it is not connected, if that is known
}

// Status returns the current status. The owner of a data directory can change at any time.
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
