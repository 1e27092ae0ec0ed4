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
	"github.com/patchbay-dev/patchbay/internal/daemonaccess"
)

// listenTCP listens on an address, and announces it to the sandbox, which keeps plugins from
// connecting to it.
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

// peers accepts connections only from the user's own processes outside of sandboxes.
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

// admits reports whether a caller may connect. It tells a process of the user why it is refused,
// and another user's process nothing.
func (p peers) admits(conn *net.UnixConn) bool {
	err := daemonaccess.CheckCaller(conn)
	if err == nil {
		return true
	}
	p.log.Warn("connection to the socket refused", "err", err)
	if errors.As(err, new(*daemonaccess.Refusal)) {
		_, _ = io.WriteString(conn, sandboxed) // fits into the buffer of a new connection; an error means that the caller has gone
	}
	return false
}

// sandboxed is the whole answer to a caller that is in a sandbox, or may be in one. It is sent
// before the caller's request is read.
const sandboxed = "HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" +
	"{\"detail\":\"Calls from inside a sandbox of Patchbay's are refused, and so are calls from processes that may be inside one.\"}\n"

// A bounded listener limits how many clients are connected at once. It answers the others with an
// error. So connections that clients leave open cannot use up the descriptors that plugins need.
// The user's own programs use the socket, which has no such limit.
type bounded struct {
	net.Listener
	places chan struct{} // one entry for each open connection
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
			_, _ = io.WriteString(conn, crowded) // fits into the buffer of a new connection; an error means that the client has gone
			conn.Close()
		}
	}
}

// crowded is the whole answer to a client above the limit. It is sent before the client's request
// is read.
const crowded = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 10\r\n" +
	"Connection: close\r\n\r\n{\"detail\":\"Too many connections.\"}\n"

// A placed connection frees its place when it is closed. It embeds the TCP connection, because
// net/http must be able to half-close it.
type placed struct {
	*net.TCPConn
	leave func()
}

// Write writes to the connection. After a timeout it makes Close discard the bytes that the client
// did not read, so that the kernel does not keep them.
func (p *placed) Write(b []byte) (int, error) {
	n, err := p.TCPConn.Write(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		_ = p.SetLinger(0) // if this fails, the kernel discards them later
	}
	return n, err
}

func (p *placed) Close() error {
	p.leave()
	return p.TCPConn.Close()
}
