package engine

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/daemonaccess"
	"github.com/patchbay-dev/patchbay/internal/pause"
)

// maxGuests limits the connections of other processes. A process has one connection for each
// engine. If more processes share a directory, a cluster is the better choice.
const maxGuests = 256

// A share connects other processes to the server in this one.
type share struct {
	listener *net.UnixListener
	open     func() (net.Conn, error) // opens a connection to the server
	log      *slog.Logger
	running  sync.WaitGroup // the accept loop, and two goroutines for each guest

	mu     sync.Mutex            // protects the fields below
	conns  map[net.Conn]struct{} // both ends of every guest's connection
	closed bool                  // no new guests
}

// startShare begins to accept guests on a listener.
func startShare(l *net.UnixListener, open func() (net.Conn, error), log *slog.Logger) *share {
	s := &share{listener: l, open: open, log: log, conns: make(map[net.Conn]struct{})}
	s.running.Go(s.accept)
	return s
}

// close ends the connections of all guests, and waits until all goroutines have ended.
func (s *share) close() {
	s.mu.Lock()
	s.closed = true
	for c := range s.conns {
		_ = c.Close() // it is closed anyway
	}
	s.mu.Unlock()
	_ = s.listener.Close() // removes the socket too
	s.running.Wait()
}

func (s *share) accept() {
	for {
		conn, err := s.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // most likely too many open files, which may pass
			s.log.Warn("engine: cannot accept a guest", "err", err)
			pause.For(context.Background(), 100*time.Millisecond)
			continue
		}
		if err := s.admit(conn); err != nil {
			s.log.Warn("engine: guest refused", "err", err)
			_ = conn.Close()
		}
	}
}

// admit connects a guest with the server.
func (s *share) admit(guest *net.UnixConn) error {
	if err := daemonaccess.CheckCaller(guest); err != nil {
		return err
	}
	inner, err := s.open()
	if err != nil {
		return err
	}
	if !s.track(guest, inner) {
		return errors.Join(errors.New("too many guests, or the engine is closing"), inner.Close())
	}
	// Each goroutine copies one direction. The one that ends first has delivered everything it
	// read, because a write to the server's end returns when the server has read it. So both ends
	// can be closed, which ends the other goroutine.
	s.running.Go(func() { s.pump(inner, guest) })
	s.running.Go(func() { s.pump(guest, inner) })
	return nil
}

// pump copies one direction. Its error does not matter: both sides notice the end and handle it.
func (s *share) pump(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
	_ = from.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, to)
	delete(s.conns, from)
}

func (s *share) track(guest, inner net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.conns) >= 2*maxGuests {
		return false
	}
	s.conns[guest] = struct{}{}
	s.conns[inner] = struct{}{}
	return true
}
