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
	"time"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/internal/filelock"
	"github.com/patchbay-dev/patchbay/internal/localsock"
	"github.com/patchbay-dev/patchbay/internal/pause"
)

// The socket has one daemon at a time. Who wants it takes the claim, a lock that is held for a
// moment, asks a daemon that a hook has started to yield, and puts its own socket in the other's
// place. So there is no moment in which nobody listens. The other answers those who called before,
// and ends.

const (
	claimTime = 20 * time.Second // to wait for others who want the socket
	yieldTime = 5 * time.Second  // for a daemon to say whether it yields; one that hangs does not
	lastCalls = 150 * time.Millisecond
)

// ErrRunning says that a daemon is there that stays where it is.
var ErrRunning = errors.New("a daemon is running already")

// A place is a daemon's on the socket.
type place struct {
	net.Listener
	path string
	mine os.FileInfo // the socket that this daemon made
}

// claim takes the place on a socket. Serve says that this daemon was not started by a hook.
func (c *Core) claim(ctx context.Context, path string, serve bool) (*place, error) {
	lock, err := lockClaim(ctx, path)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if conn, err := localsock.Dial(path); err == nil {
		_ = conn.Close() // it was only to know whether somebody is there
		if err := c.askToYield(ctx, path, serve); err != nil {
			return nil, fmt.Errorf("%w: it answers on %s (%w)", ErrRunning, path, err)
		}
		c.log.Info("a daemon that a hook started makes room", "socket", path)
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

// lockClaim waits for the claim.
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
			return nil, fmt.Errorf("listen on %s: another daemon has been about to for %v", path, claimTime)
		}
	}
}

// leave lets nobody come any more. Those who are about to call are still answered. Where a daemon
// has taken the place it stays.
func (p *place) leave() {
	lock, err := lockClaim(context.Background(), p.path)
	if err != nil {
		return // somebody is taking it
	}
	_ = localsock.Leave(p.path, p.mine) // whoever listens next removes what is left
	_ = lock.Close()
}

// taken tells whether another daemon has taken the place.
func (p *place) taken() bool {
	now, err := os.Lstat(p.path)
	return err == nil && !os.SameFile(p.mine, now)
}

// askToYield asks the daemon on a socket to make room.
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
	resp, err := socketClient(path).Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16)) // the status tells
	if resp.StatusCode != http.StatusOK {
		return errors.New("it stays there")
	}
	return nil
}

// socketClient speaks HTTP over a socket.
func socketClient(path string) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return localsock.Dial(path) }}}
}
