package httpapi

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/daemonaccess"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
)

// A memo stores whether the caller of a connection is allowed. The caller is checked once for each
// connection, because a sandboxed process cannot pass a connection to a process outside, or receive
// one from there.
type memo struct {
	once sync.Once
	err  error // set by once
}

type memoKey struct{}

// ConnContext is for http.Server.ConnContext. With it, the caller is checked once for each
// connection, at its first request. Without it, every request checks the caller.
func ConnContext(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, memoKey{}, new(memo))
}

// Announce registers a listener of this API, so that no host connects a plugin in a sandbox to it.
// A plugin that may connect to ports of this machine does so through its host, and
// [daemonaccess.Caller] cannot distinguish such a connection from the host's own.
func Announce(l *net.TCPListener) (net.Listener, error) {
	announced, err := daemonaccess.Announce(l)
	if err != nil {
		return nil, err
	}
	return announced, nil
}

// checkCaller refuses plugins in one of our sandboxes, and callers that may be such plugins. It is
// not called for requests with a token.
func (g *gate) checkCaller(r *http.Request) *problem {
	err := g.callerError(r)
	if err == nil {
		return nil
	}
	var refusal *daemonaccess.Refusal
	if errors.As(err, &refusal) && refusal.Inside {
		return &problem{http.StatusForbidden, "Calls from inside a Patchbay sandbox are refused. " +
			"A plugin with net:* can use this server only with a token: [server] token in the configuration."}
	}
	return &problem{http.StatusForbidden, "Caller unknown: " + excerpt.Of(err.Error(), maxDetail/2) + ". " +
		"Use the daemon's socket, patchbay.sock, or set a token: [server] token in the configuration."}
}

func (g *gate) callerError(r *http.Request) error {
	known, _ := r.Context().Value(memoKey{}).(*memo)
	if known == nil {
		known = new(memo)
	}
	known.once.Do(func() {
		if known.err = g.checkProcess(r); known.err != nil {
			g.logRefusal(known.err)
		}
	})
	return known.err
}

// logRefusal logs a refusal, at most one in a second, because a plugin can call as often as it
// likes.
func (g *gate) logRefusal(err error) {
	if now := time.Now().Unix(); g.loggedAt.Swap(now) != now {
		g.log.Warn("caller refused", "err", err)
	}
}

// checkProcess checks the process that opened the request's connection.
func (g *gate) checkProcess(r *http.Request) error {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return errors.New("the connection does not use TCP")
	}
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return err
	}
	return g.caller(local.AddrPort(), remote)
}
