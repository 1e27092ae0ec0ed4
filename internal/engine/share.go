package engine

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/doors"
	"github.com/patchbay-dev/patchbay/internal/pause"
)

// maxGuests bounds the connections of other processes. A process has one an engine; a machine on
// which more processes than this share a directory wants a cluster.
const maxGuests = 256

// A share passes the connections of other processes on to the server in this one.
type share struct {
	listener *net.UnixListener
	open     func() (net.Conn, error) // a connection to the server
	log      *slog.Logger
	running  sync.WaitGroup // the accept loop and two goroutines a guest

	mu     sync.Mutex            // protects the fields below
	conns  map[net.Conn]struct{} // both ends of every guest
	closed bool                  // no more guests
}

// startShare begins to take guests in on a listener.
func startShare(l *net.UnixListener, open func() (net.Conn, error), log *slog.Logger) *share {
	s := &share{listener: l, open: open, log: log, conns: make(map[net.Conn]struct{})}
	s.running.Go(s.accept)
	return s
}

// close ends every guest's connection and waits until nothing of the share is left.
func (s *share) close() {
	s.mu.Lock()
	s.closed = true
	for c := range s.conns {
		_ = c.Close() // it is going away either way
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
		if err != nil { // too many open files, most likely: it may pass
			s.log.Warn("engine: accepting a guest", "err", err)
			pause.For(context.Background(), 100*time.Millisecond)
			continue
		}
		if err := s.admit(conn); err != nil {
			s.log.Warn("engine: guest refused", "err", err)
			_ = conn.Close()
		}
	}
}

// admit joins a guest's connection with one to the server.
func (s *share) admit(guest *net.UnixConn) error {
	if err := doors.CheckCaller(guest); err != nil {
		return err
	}
	inner, err := s.open()
	if err != nil {
		return err
	}
	if !s.track(guest, inner) {
		return errors.Join(errors.New("too many guests, or on the way out"), inner.Close())
	}
	// Each goroutine owns one direction. Whichever ends first has delivered all it read (a write to
	// the server's end returns when the server has read it), so both ends can be closed, which ends
	// the other.
	s.running.Go(func() { s.pump(inner, guest) })
	s.running.Go(func() { s.pump(guest, inner) })
	return nil
}

// pump copies one direction. How it ended is of no interest: both sides notice, and both know what
// to do.
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
