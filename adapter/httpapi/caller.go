package httpapi

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/doors"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
)

// A memo keeps the verdict on a connection's caller. One look is enough for the life of the
// connection, because a sandboxed process cannot hand a connection to a process outside, or receive
// one from there.
type memo struct {
	ask sync.Once
	err error // set by ask
}

type memoKey struct{}

// ConnContext is for http.Server.ConnContext: who calls is then found out once for a connection,
// with its first request, and else with every request.
func ConnContext(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, memoKey{}, new(memo))
}

// Announce makes a listener known as one of this API's, so that no plugin in a sandbox is led to
// it: a plugin that may connect to some of this machine's ports does so through its host, whose
// connections [doors.Caller] cannot tell from honest ones.
func Announce(l *net.TCPListener) (net.Listener, error) {
	door, err := doors.Announce(l)
	if err != nil {
		return nil, err
	}
	return door, nil
}

// checkCaller refuses a plugin in one of our sandboxes, and who may be one. A request that has a
// token to show is not asked.
func (g *gate) checkCaller(r *http.Request) *problem {
	err := g.callerError(r)
	if err == nil {
		return nil
	}
	var refusal *doors.Refusal
	if errors.As(err, &refusal) && refusal.Inside {
		return &problem{http.StatusForbidden, "Calls from inside a sandbox of Patchbay's are refused. " +
			"Only with a token, [server] token of the configuration, can a plugin that has net:* use this server."}
	}
	return &problem{http.StatusForbidden, "Caller not known: " + excerpt.Of(err.Error(), maxDetail/2) + ". " +
		"Use the daemon's socket, patchbay.sock, or set a token: [server] token of the configuration."}
}

func (g *gate) callerError(r *http.Request) error {
	known, _ := r.Context().Value(memoKey{}).(*memo)
	if known == nil {
		known = new(memo)
	}
	known.ask.Do(func() {
		if known.err = g.ask(r); known.err != nil {
			g.tell(known.err)
		}
	})
	return known.err
}

// tell logs a refusal, one a second: a plugin can call as fast as it likes.
func (g *gate) tell(err error) {
	if now := time.Now().Unix(); g.told.Swap(now) != now {
		g.log.Warn("caller refused", "err", err)
	}
}

// ask looks up the process that opened the request's connection.
func (g *gate) ask(r *http.Request) error {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return errors.New("the connection is not one over TCP")
	}
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return err
	}
	return g.caller(local.AddrPort(), remote)
}
