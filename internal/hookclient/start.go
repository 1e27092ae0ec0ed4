package hookclient

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/patchbay-dev/patchbay/internal/filelock"
	"github.com/patchbay-dev/patchbay/internal/proc/detached"
)

const (
	startLock = "hook-daemon.lock" // below the state directory: the process that holds it starts a daemon
	// DaemonLog is the log of a daemon that a hook has started, below the state directory.
	DaemonLog = "hook-daemon.log"
)

// maxDaemonLog is the size from which DaemonLog is emptied when a daemon is started.
const maxDaemonLog = 4 << 20

// startDaemon starts a daemon and waits until it listens. If several processes want a daemon, one
// starts it; for the others startDaemon returns false at once, and they try to connect again. If
// another daemon listens already, the daemon that was just started reports that it is ready, and
// ends.
func (c *client) startDaemon(ctx context.Context) (started bool, err error) {
	program, err := c.program()
	if err != nil {
		return false, err
	}
	if err := os.MkdirAll(c.dirs.State, 0o700); err != nil {
		return false, err
	}
	lock, err := filelock.Open(filepath.Join(c.dirs.State, startLock))
	if errors.Is(err, filelock.ErrLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer lock.Close()
	log, err := openLog(filepath.Join(c.dirs.State, DaemonLog))
	if err != nil {
		return false, err
	}
	defer log.Close()
	err = detached.Daemon{Path: program, Args: []string{"hook", "daemon"}, Env: cleanEnviron(c.Environ, c.Dir), Dir: root(), Log: log}.Start(ctx)
	if err != nil {
		err = fmt.Errorf("a daemon cannot be started: %w (%s has more)", err, log.Name())
	}
	return true, err
}

// program returns the path of the patchbay program.
func (c *client) program() (string, error) {
	if c.Program != "" {
		return c.Program, nil
	}
	return detached.Beside("patchbay", cleanPath(lookup(c.Environ)("PATH"), c.Dir))
}

// root returns the working directory of the daemon, which belongs to no project.
func root() string { return filepath.VolumeName(os.TempDir()) + string(filepath.Separator) }

func openLog(path string) (*os.File, error) {
	mode := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if info, err := os.Lstat(path); err == nil && info.Size() > maxDaemonLog {
		mode |= os.O_TRUNC
	}
	return os.OpenFile(path, mode, 0o600)
}
