package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/patchbay-dev/patchbay/internal/engine/blocks"
	"github.com/patchbay-dev/patchbay/internal/localsock"
)

// A node is this process's part of an embedded engine. It is the owner, which runs the server and
// shares it over a socket, or a guest, which uses the server of another process. The connection
// calls its Dial again whenever it is lost. So a guest becomes the owner when the owner has ended.
// The lock of the directory decides between several guests.
type node struct {
	dir    string
	socket string
	log    *slog.Logger

	mu     sync.Mutex // protects the fields below; held while a server starts or stops
	closed bool
	lock   *fileLock      // nil unless this process is the owner
	server *server.Server // nil unless this process is the owner
	share  *share         // nil unless this process is the owner
	scrub  *scrub         // nil unless this process is the owner
	unread *blocks.Unread // the blocks that were not read at the start; nil unless this process is the owner
	err    error          // why the last Dial could not connect

	faults faults
}

// faults holds the failed writes that the server logged. It has its own mutex, because the server
// also logs while it is started and stopped.
type faults struct {
	mu        sync.Mutex // protects the fields below
	last      error
	at        time.Time
	pending   bool   // the server with the fault is still running
	reconnect func() // makes the connection dial again, without waiting; nil: there is none yet
}

// report notes a fault. It must not call the server, which may hold its locks.
func (f *faults) report(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pending {
		return
	}
	f.last, f.at, f.pending = err, time.Now(), true
	if f.reconnect != nil {
		f.reconnect()
	}
}

// replaceServer requests a new server although the current one can write.
func (f *faults) replaceServer() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pending {
		return
	}
	f.pending = true
	if f.reconnect != nil {
		f.reconnect()
	}
}

// reconnectWith sets the function that makes the connection dial again, and calls it if the server
// already had a fault.
func (f *faults) reconnectWith(reconnect func()) {
	f.mu.Lock()
	f.reconnect = reconnect
	f.mu.Unlock()
	f.remind()
}

// remind makes the connection dial again if the server still has a fault. A connection that was
// being established when the fault came does not know of it.
func (f *faults) remind() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pending && f.reconnect != nil {
		f.reconnect()
	}
}

// since returns a fault that came after the given time, or nil.
func (f *faults) since(t time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == nil || f.at.Before(t) {
		return nil
	}
	return f.last
}

// wrote notes that a write succeeded that began at the given time. Earlier faults are over.
func (f *faults) wrote(begin time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last != nil && f.at.Before(begin) {
		f.last = nil
	}
}

func (f *faults) isPending() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pending
}

func (f *faults) clearPending() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pending = false
}

// newNode prepares the directory. It does not take the lock yet.
func newNode(o Options, log *slog.Logger) (*node, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, &DirError{err}
	}
	// Two paths of one directory must lead to one socket.
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	socket := o.Socket
	if socket == "" {
		if socket, err = localsock.Path(dir, "engine.sock"); err != nil {
			return nil, err
		}
	}
	return &node{dir: dir, socket: socket, log: log}, nil
}

// Dial implements nats.CustomDialer. It ignores the address.
func (n *node) Dial(string, string) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	conn, err := n.dial()
	for range restarts { // a server can find damage or a full disk while it starts
		if err != nil || n.server == nil || !n.faults.isPending() {
			break
		}
		_ = conn.Close() // its server is replaced
		conn, err = n.dial()
	}
	n.err = err
	return conn, err
}

// restarts limits how often one Dial replaces a server that has a fault right after its start.
const restarts = 2

func (n *node) dial() (net.Conn, error) {
	if n.closed {
		return nil, ErrClosed
	}
	if n.server != nil {
		if n.server.JetStreamEnabled() && !n.faults.isPending() {
			return n.server.InProcessConn()
		}
		// There are two reasons. If the disk is full, the server gives up its store, and a new one
		// shows whether the disk is still full. If the server has cut off a block, the start of a
		// new one gets the undamaged records back.
		n.log.Warn("engine: the server must be replaced: restarting it")
		if err := n.stop(); err != nil {
			return nil, err
		}
	}
	conn, dialErr := localsock.Dial(n.socket)
	if dialErr == nil {
		return conn, nil
	}
	lock, err := tryLock(n.dir)
	if errors.Is(err, errLocked) {
		return nil, &HeldError{Dir: n.dir, PID: holder(n.dir), Err: dialErr}
	}
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := n.becomeOwner(lock); err != nil {
		return nil, err
	}
	return n.server.InProcessConn()
}

// becomeOwner starts the server and makes this process the owner.
func (n *node) becomeOwner(lock *fileLock) error {
	unread, err := n.prepare()
	if err != nil {
		return errors.Join(err, lock.release())
	}
	watch := &rebuildWatch{dir: n.dir, log: n.log, replace: n.faults.replaceServer, unread: unread.Streams()}
	scrub := startScrub(unread, watch)
	srv, err := startServer(n.dir, n.log, n.faults.report, watch.onWarning)
	if err != nil {
		scrub.stop()
		return errors.Join(err, lock.release())
	}
	n.lock, n.server, n.scrub, n.unread = lock, srv, scrub, unread
	l, err := localsock.Listen(n.socket)
	if err != nil {
		return errors.Join(fmt.Errorf("engine's socket: %w", err), n.stop())
	}
	n.share = startShare(l, srv.InProcessConn, n.log)
	n.log.Debug("engine: running the server", "dir", n.dir)
	return nil
}

// stop ends everything that becomeOwner started. It releases the lock last, so that this process no
// longer writes when another one gets it.
func (n *node) stop() error {
	if n.server == nil {
		return nil
	}
	if n.share != nil {
		n.share.close()
	}
	n.scrub.stop()
	clean := n.server.JetStreamEnabled() && !n.faults.isPending()
	n.server.Shutdown()
	n.server.WaitForShutdown()
	if clean = clean && !n.faults.isPending(); clean {
		n.seal()
	}
	n.faults.clearPending()
	err := n.lock.release()
	n.share, n.server, n.scrub, n.unread, n.lock = nil, nil, nil, nil, nil
	return err
}

// seal stores the state of the files, so that the next start need not read them. Without it the
// next start reads all blocks.
func (n *node) seal() {
	if err := blocks.Seal(n.dir, n.unread); err != nil {
		n.log.Warn("engine: cannot record the clean stop; the next start reads all blocks", "err", err)
	}
}

// close ends the node permanently.
func (n *node) close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	return n.stop()
}

// status reports whether this process is the owner, and why the last Dial could not connect.
func (n *node) status() (owner bool, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.server != nil, n.err
}
