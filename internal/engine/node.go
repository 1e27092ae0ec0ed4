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

// A node is this process's part in an embedded engine: its owner, who runs the server and shares it
// through a socket, or a guest, who uses that of another process. It is the dialer of the
// connection, asked anew whenever that is lost; so a guest becomes the owner when the owner is
// gone. The lock of the directory decides among several.
type node struct {
	dir    string
	socket string
	log    *slog.Logger

	mu     sync.Mutex // protects the fields below; held while a server starts or stops
	closed bool
	lock   *fileLock      // nil unless this process is the owner
	server *server.Server // nil unless this process is the owner
	share  *share         // nil unless this process is the owner
	scrub  *scrub         // likewise
	unread *blocks.Unread // what the start of the server has not read; likewise
	err    error          // why the last Dial could not connect

	faults faults
}

// faults are what the server's log says about writes that failed. They have a mutex of their own,
// because the server speaks while it is being started and stopped too.
type faults struct {
	mu        sync.Mutex // protects the fields below
	last      error
	at        time.Time
	pending   bool   // the server that had it still runs
	reconnect func() // has the connection dial anew, without waiting; nil: there is none yet
}

// report notes a fault. The server is not to be touched from here: it may hold its locks.
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

// replaceServer has the server replaced although it can write.
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

// reconnectWith says how the connection is made to dial anew, and has it do so if the server was at
// fault before.
func (f *faults) reconnectWith(reconnect func()) {
	f.mu.Lock()
	f.reconnect = reconnect
	f.mu.Unlock()
	f.remind()
}

// remind has a server replaced that still has a fault: a connection that was being made when it
// came has not heard of it.
func (f *faults) remind() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pending && f.reconnect != nil {
		f.reconnect()
	}
}

// since is a fault that came after a moment; nil: none did.
func (f *faults) since(t time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == nil || f.at.Before(t) {
		return nil
	}
	return f.last
}

// wrote notes that a write which began at a moment has succeeded: what failed before that is over.
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

// newNode prepares the directory and takes no lock yet.
func newNode(o Options, log *slog.Logger) (*node, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	// Two names of one directory must come to one socket.
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

// Dial implements nats.CustomDialer. The address means nothing.
func (n *node) Dial(string, string) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	conn, err := n.dial()
	for range restarts { // a server can find damage, or a full disk, while it starts
		if err != nil || n.server == nil || !n.faults.isPending() {
			break
		}
		_ = conn.Close() // its server is replaced
		conn, err = n.dial()
	}
	n.err = err
	return conn, err
}

// restarts is how often a server that is at fault as soon as it has started is replaced at once.
const restarts = 2

func (n *node) dial() (net.Conn, error) {
	if n.closed {
		return nil, ErrClosed
	}
	if n.server != nil {
		if n.server.JetStreamEnabled() && !n.faults.isPending() {
			return n.server.InProcessConn()
		}
		// The server gives its store up when the disk is full. A new one can tell whether it still
		// is. Or it has cut a block, of which a new one gets the whole records back.
		n.log.Warn("engine: the server has to be replaced, starting it anew")
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

// becomeOwner makes this process the owner.
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

// stop ends what becomeOwner began, the lock last: when another process gets it, nothing here writes any
// more.
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

// seal notes how the files are, so that the next start need not read them. Without it the next
// start reads them all.
func (n *node) seal() {
	if err := blocks.Seal(n.dir, n.unread); err != nil {
		n.log.Warn("engine: the clean stop could not be noted; the next start reads all blocks", "err", err)
	}
}

// close ends the node for good.
func (n *node) close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	return n.stop()
}

// status says whether this process is the owner, and why it last could not connect.
func (n *node) status() (owner bool, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.server != nil, n.err
}
