package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/patchbay-dev/patchbay"
	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/localsock"
)

const (
	headerTime = 10 * time.Second // for a client to send a request's header
	idleTime   = 2 * time.Minute  // for a connection between requests
	turnGrace  = 10 * time.Second // for turns to end by themselves when the daemon is told to end
	closeGrace = 5 * time.Second  // for answers under way to be sent then
)

// ServeOptions say where the daemon listens.
type ServeOptions struct {
	Listen string // host:port; "": the configuration's
	Socket string // a unix socket; "": [SocketPath]
	Ready  func(Addresses)
}

// Addresses are where the daemon can be reached.
type Addresses struct {
	HTTP   string // http://host:port
	Socket string // a unix socket
}

// SocketPath is where the daemon of these directories listens for programs of the same user.
func SocketPath(d config.Dirs) (string, error) { return localsock.Path(d.State, "patchbay.sock") }

// Serve answers requests until ctx ends. Then turns get a moment to finish, those that do not are interrupted and kept as
// such, and the answers under way are sent. The core is the caller's to close.
func (c *Core) Serve(ctx context.Context, o ServeOptions) error {
	address := o.Listen
	if address == "" {
		address = c.Config.Server.Listen
	}
	token := c.Config.Server.Token
	if err := httpapi.CheckListen(address, token.Reveal() != ""); err != nil {
		return err
	}
	tcp, err := net.Listen("tcp", address)
	if err != nil {
		return listenError(address, err)
	}
	if o.Socket == "" {
		if o.Socket, err = SocketPath(c.Dirs); err != nil {
			return errors.Join(err, tcp.Close())
		}
	}
	local, err := listenSocket(o.Socket)
	if err != nil {
		return errors.Join(err, tcp.Close())
	}
	routes, err := httpapi.New(httpapi.Options{Backend: c.backend(), Token: token, Hosts: c.Config.Server.Hosts, Version: patchbay.Version,
		Metrics: c.count.handler, Logger: c.log})
	if err != nil {
		return errors.Join(err, tcp.Close(), local.Close())
	}
	return c.serve(ctx, routes, o, tcp, local)
}

// serve runs the server on both listeners.
func (c *Core) serve(ctx context.Context, routes http.Handler, o ServeOptions, tcp, local net.Listener) error {
	requests, endRequests := context.WithCancel(context.WithoutCancel(ctx)) // the end of ctx is not theirs yet
	defer endRequests()
	server := &http.Server{Handler: routes, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return requests }}
	ended := make(chan error, 2)
	for _, l := range []net.Listener{tcp, local} {
		go func() { ended <- server.Serve(l) }()
	}
	var scheduling sync.WaitGroup
	scheduled, endJobs := context.WithCancel(context.WithoutCancel(ctx))
	scheduling.Go(func() {
		if err := c.Jobs.Schedule(scheduled); err != nil {
			c.log.Error("no job will run", "err", err)
		}
	})
	if o.Ready != nil {
		o.Ready(Addresses{HTTP: "http://" + tcp.Addr().String(), Socket: o.Socket})
	}
	var err error
	left := 2
	select {
	case <-ctx.Done():
	case err = <-ended: // a listener broke; the other one goes with it
		left--
	}
	endJobs() // agents that are running are stopped; their attempts count as failed
	err = errors.Join(err, c.windDown(server, endRequests))
	scheduling.Wait()
	for range left {
		if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// windDown ends the server: no new turns, a moment for those under way, then the streams, which never end by themselves,
// and the answers.
func (c *Core) windDown(server *http.Server, endRequests func()) error {
	c.running.stop()
	grace, cancel := context.WithTimeout(context.Background(), turnGrace)
	defer cancel()
	if !c.running.wait(grace) {
		c.log.Warn("turns are interrupted: the daemon ends")
	}
	c.running.interruptAll()
	endRequests()
	ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return errors.Join(err, server.Close())
	}
	return nil
}

func listenError(address string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s is taken by another program, maybe another patchbay: stop that one, or choose another address with --listen", address)
	}
	return fmt.Errorf("listen on %s: %w", address, err)
}

// listenSocket listens for programs of the same user, unless a daemon does already.
func listenSocket(path string) (net.Listener, error) {
	if conn, err := localsock.Dial(path); err == nil {
		conn.Close()
		return nil, fmt.Errorf("a daemon is running already: it answers on %s", path)
	}
	l, err := localsock.Listen(path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	return peers{l}, nil
}

// peers accepts the user's own processes alone.
type peers struct{ *net.UnixListener }

func (p peers) Accept() (net.Conn, error) {
	for {
		conn, err := p.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if localsock.CheckPeer(conn) == nil {
			return conn, nil
		}
		conn.Close() // a stranger's; nothing was promised
	}
}
