package daemon

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/internal/doors"
)

// listenTCP listens where plugins in sandboxes know not to connect to.
func listenTCP(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	known, err := httpapi.Announce(l.(*net.TCPListener))
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return known, nil
}

// peers accepts the user's own processes alone, and none that is in a sandbox.
type peers struct {
	*net.UnixListener
	log *slog.Logger
}

func (p peers) Accept() (net.Conn, error) {
	for {
		conn, err := p.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if p.admits(conn) {
			return conn, nil
		}
		conn.Close()
	}
}

// admits tells one of the user's own why it is refused. A stranger is told nothing.
func (p peers) admits(conn *net.UnixConn) bool {
	err := doors.CheckCaller(conn)
	if err == nil {
		return true
	}
	p.log.Warn("connection to the socket refused", "err", err)
	if errors.As(err, new(*doors.Refusal)) {
		_, _ = io.WriteString(conn, sandboxed) // it fits into the buffer of a new connection; who does not read it is gone
	}
	return false
}

// sandboxed is the whole answer to a caller in a sandbox, or to one that may be in one. It has not
// been asked anything yet.
const sandboxed = "HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" +
	"{\"detail\":\"Calls from inside a sandbox of Patchbay's are refused, and from where that cannot be told.\"}\n"

// A bounded listener lets so many clients in at once and tells the others, so that connections
// which nobody closes cannot take the descriptors that plugins need. Programs of the user's own
// have the socket, which is not bounded.
type bounded struct {
	net.Listener
	places chan struct{} // one for each connection that is open
}

func newBounded(l net.Listener, most int) bounded { return bounded{l, make(chan struct{}, most)} }

func (b bounded) Accept() (net.Conn, error) {
	for {
		conn, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case b.places <- struct{}{}:
			return &placed{TCPConn: conn.(*net.TCPConn), leave: sync.OnceFunc(func() { <-b.places })}, nil
		default:
			_, _ = io.WriteString(conn, crowded) // it fits into the buffer of a new connection; who does not read it is gone
			conn.Close()
		}
	}
}

// crowded is the whole answer to one client too many. It has not been asked anything yet.
const crowded = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 10\r\n" +
	"Connection: close\r\n\r\n{\"detail\":\"Too many connections.\"}\n"

// A placed connection gives its place back when it is closed. It is a TCP connection in all else:
// net/http half-closes.
type placed struct {
	*net.TCPConn
	leave func()
}

// Write: what a client did not take in time the kernel need not keep for it either, after the
// connection is closed.
func (p *placed) Write(b []byte) (int, error) {
	n, err := p.TCPConn.Write(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		_ = p.SetLinger(0) // where that cannot be set, the kernel gives up by itself some day
	}
	return n, err
}

func (p *placed) Close() error {
	p.leave()
	return p.TCPConn.Close()
}
