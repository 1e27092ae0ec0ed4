package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/internal/filelock"
	"github.com/patchbay-dev/patchbay/internal/localsock"
	"github.com/patchbay-dev/patchbay/internal/pause"
)

// One daemon at a time listens on the socket. A daemon that wants the socket takes the claim, a
// lock that is held only for a moment. It asks the running daemon to yield. Only a daemon that a
// hook has started yields. The new daemon then replaces the socket with its own, so that at every
// moment some daemon listens. The old one answers its remaining calls and ends.

const (
	claimTime = 20 * time.Second // waiting for other daemons that want the socket
	yieldTime = 5 * time.Second  // waiting for a daemon's answer whether it yields; one that hangs does not yield
	lastCalls = 150 * time.Millisecond
)

// ErrRunning reports that a daemon is running and does not yield the socket.
var ErrRunning = errors.New("a daemon is running already")

// A place is the socket that a daemon listens on.
type place struct {
	net.Listener
	path string
	mine os.FileInfo // the socket that this daemon made
}

// claim takes the socket at path. serve is false for a daemon that a hook has started.
func (c *Core) claim(ctx context.Context, path string, serve bool) (*place, error) {
	lock, err := lockClaim(ctx, path)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if conn, err := localsock.Dial(path); err == nil {
		_ = conn.Close() // the connection only shows whether a daemon listens
		if err := c.askToYield(ctx, path, serve); err != nil {
			return nil, fmt.Errorf("%w: it answers on %s (%w)", ErrRunning, path, err)
		}
		c.log.Info("the daemon that a hook started yields the socket", "socket", path)
	}
	l, err := localsock.Take(path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	mine, err := os.Lstat(path)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &place{peers{l, c.log}, path, mine}, nil
}

// lockClaim waits for the claim and takes it.
func lockClaim(ctx context.Context, path string) (*os.File, error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := localsock.CheckDir(dir); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	ctx, cancel := context.WithTimeout(ctx, claimTime)
	defer cancel()
	for {
		f, err := filelock.Open(path + ".lock")
		if !errors.Is(err, filelock.ErrLocked) {
			return f, err
		}
		if pause.For(ctx, 10*time.Millisecond) != nil {
			return nil, fmt.Errorf("listen on %s: another daemon has been starting for %v", path, claimTime)
		}
	}
}

// leave removes the socket, so that no new calls come. Calls that have already connected are still
// answered. If another daemon has taken the place, its socket stays.
func (p *place) leave() {
	lock, err := lockClaim(context.Background(), p.path)
	if err != nil {
		return // another daemon is taking the place
	}
	_ = localsock.Leave(p.path, p.mine) // the next daemon replaces a socket that stays
	_ = lock.Close()
}

// taken reports whether another daemon has taken the place.
func (p *place) taken() bool {
	now, err := os.Lstat(p.path)
	return err == nil && !os.SameFile(p.mine, now)
}

// askToYield asks the daemon on a socket to yield it.
func (c *Core) askToYield(ctx context.Context, path string, serve bool) error {
	ctx, cancel := context.WithTimeout(ctx, yieldTime)
	defer cancel()
	body, err := json.Marshal(httpapi.YieldRequest{Version: c.version, Serve: serve})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://patchbay/v1/daemon/yield", bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := socketClient(path, nil).Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16)) // only the status matters
	if resp.StatusCode != http.StatusOK {
		return errors.New("it does not yield")
	}
	return nil
}

// socketClient returns an HTTP client that connects to a socket. Unless pid is nil, it becomes the
// number of the process that listens there, if the system reports it.
func socketClient(path string, pid *atomic.Int64) *http.Client {
	dial := func(context.Context, string, string) (net.Conn, error) {
		conn, err := localsock.Dial(path)
		if c, ok := conn.(*net.UnixConn); ok && pid != nil {
			peer, _ := localsock.Peer(c) // Dial has checked it
			pid.Store(int64(peer))
		}
		return conn, err
	}
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}
}
