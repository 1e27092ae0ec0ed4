package daemon

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/localsock"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/web"
)

const (
	idleTime   = 2 * time.Minute  // for a connection between requests
	turnGrace  = 10 * time.Second // for turns to end by themselves when the daemon is told to end
	closeGrace = 5 * time.Second  // for running answers to be sent after that
)

// ServeOptions are the options of [Core.Serve].
type ServeOptions struct {
	Listen string // host:port; "": the configuration's
	Socket string // a unix socket; "": the usual one
	Ready  func(Addresses)
	Limits Limits
	Log    string // the log file, for [Addresses]; "": none
	Access bool   // log every request
}

// Limits keep clients from harming the daemon and each other. Zero fields mean the defaults.
type Limits struct {
	httpapi.Limits
	HeaderTime  time.Duration // for a client to send the header of a request; 0: 10 s
	Connections int           // open TCP connections; 0: 1024. Each uses a descriptor that plugins could need
}

func (l Limits) withDefaults() Limits {
	l.HeaderTime = cmp.Or(l.HeaderTime, 10*time.Second)
	l.Connections = cmp.Or(l.Connections, 1024)
	return l
}

// maxHeader is the size limit of a request's header: its first line, cookies of other pages on this
// host, and a token.
const maxHeader = 64 << 10

// Addresses are the addresses of the daemon.
type Addresses struct {
	HTTP   string // http://host:port
	Socket string // a unix socket
	Log    string // the log file; "": none
}

// socketPath returns the socket on which the daemon of these directories listens for programs of
// the same user.
func socketPath(d config.Dirs) (string, error) { return localsock.Path(d.State, "patchbay.sock") }

// Serve answers requests until ctx ends. Then running turns get some time to finish. Serve
// interrupts those that do not, which are stored as interrupted, and waits until running answers
// are sent. The caller closes the core.
func (c *Core) Serve(ctx context.Context, o ServeOptions) error {
	address := o.Listen
	if address == "" {
		address = c.Config().Server.Listen
	}
	if err := c.startExport(); err != nil {
		return err
	}
	token := c.Config().Server.Token
	if err := httpapi.CheckListen(address, token.Reveal() != ""); err != nil {
		return err
	}
	if o.Socket == "" {
		var err error
		if o.Socket, err = socketPath(c.Dirs); err != nil {
			return err
		}
	}
	tcp, err := listenTCP(address)
	if err != nil {
		return c.explainTaken(ctx, err, address, o.Socket)
	}
	c.WriteClosed()
	local, err := c.claim(ctx, o.Socket, true)
	if err != nil {
		return errors.Join(c.explainTaken(ctx, err, address, o.Socket), tcp.Close())
	}
	clients := c.MCP(MCPOptions{})
	defer clients.Close()
	c.clients.Store(clients)
	routes := httpapi.New(httpapi.Options{Backend: c.backend(), Token: token, Hosts: c.Config().Server.Hosts, Version: pluginhost.Version,
		Metrics: &c.count.all, MCP: clients.Handler(o.Limits.Body), Web: web.Handler(), Logger: c.log, Limits: o.Limits.Limits})
	o.Limits = o.Limits.withDefaults()
	return c.serve(ctx, routes, o, newBounded(tcp, o.Limits.Connections), local)
}

// serve runs the server on both listeners.
func (c *Core) serve(ctx context.Context, routes http.Handler, o ServeOptions, tcp net.Listener, local *place) error {
	requests, endRequests := context.WithCancel(context.WithoutCancel(ctx)) // requests go on after ctx ends
	defer endRequests()
	if o.Access {
		routes = c.logAccess(routes)
	}
	server := c.newServer(requests, routes, o.Limits)
	ended := make(chan error, 2)
	for _, l := range []net.Listener{tcp, local} {
		go func() { ended <- server.Serve(l) }()
	}
	var scheduling sync.WaitGroup
	scheduled, endJobs := context.WithCancel(context.WithoutCancel(ctx))
	scheduling.Go(func() {
		if err := c.Jobs.Schedule(scheduled); err != nil {
			c.log.Error("the scheduler of jobs has ended", "err", err)
		}
	})
	scheduling.Go(func() { c.keepClosed(scheduled) })
	scheduling.Go(func() { c.pluginEvents.watch(scheduled) })
	at := Addresses{HTTP: "http://" + tcp.Addr().String(), Socket: o.Socket, Log: o.Log}
	c.at.Store(&at)
	if o.Ready != nil {
		o.Ready(at)
	}
	var err error
	left := 2
	select {
	case <-ctx.Done():
	case err = <-ended: // a listener failed: end the other one too
		left--
	}
	endJobs() // stops running agents; their attempts do not count
	local.leave()
	err = errors.Join(err, c.endServing(server, endRequests, turnGrace))
	scheduling.Wait()
	for range left {
		if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// newServer returns a server whose requests end when ctx ends.
func (c *Core) newServer(ctx context.Context, routes http.Handler, l Limits) *http.Server {
	return &http.Server{Handler: routes, ReadHeaderTimeout: l.HeaderTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		DisableGeneralOptionsHandler: true, // otherwise "OPTIONS *" would be answered before the routes check access
		ErrorLog:                     slog.NewLogLogger(c.log.Handler(), slog.LevelWarn),
		ConnContext:                  httpapi.ConnContext,
		BaseContext:                  func(net.Listener) context.Context { return ctx }}
}

// endServing ends the server. It lets no new turn begin, waits for the running ones, and interrupts
// those that do not end. Then it cancels all requests, because streams never end by themselves, and
// waits until the answers are sent.
func (c *Core) endServing(server *http.Server, endRequests func(), patience time.Duration) error {
	c.running.stop()
	grace, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if !c.running.wait(grace) {
		c.log.Warn("turns are interrupted: the daemon ends")
	}
	if !c.running.interruptAll(interruptGrace) {
		c.log.Warn("some turns did not end when they were interrupted")
	}
	endRequests()
	ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return errors.Join(err, server.Close())
	}
	return nil
}
