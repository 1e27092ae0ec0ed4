package hookroad

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
	startLock = "hook-daemon.lock" // below the state directory: who has it starts a daemon
	// DaemonLog is what a daemon says that was started by a hook, below the state directory.
	DaemonLog = "hook-daemon.log"
)

// maxDaemonLog is how large that log may be when a daemon is started. Then it begins anew.
const maxDaemonLog = 4 << 20

// start starts a daemon and waits until it listens. Of several processes that want one, one starts
// it; the others return at once, and look again. Where a daemon has come meanwhile the new one sees
// that, says that it is ready, and ends.
func (r *road) start(ctx context.Context) (started bool, err error) {
	program, err := r.program()
	if err != nil {
		return false, err
	}
	if err := os.MkdirAll(r.dirs.State, 0o700); err != nil {
		return false, err
	}
	lock, err := filelock.Open(filepath.Join(r.dirs.State, startLock))
	if errors.Is(err, filelock.ErrLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer lock.Close()
	log, err := openLog(filepath.Join(r.dirs.State, DaemonLog))
	if err != nil {
		return false, err
	}
	defer log.Close()
	err = detached.Daemon{Path: program, Args: []string{"hook", "daemon"}, Env: cleaned(r.Environ, r.Dir), Dir: root(), Log: log}.Start(ctx)
	if err != nil {
		err = fmt.Errorf("a daemon cannot be started: %w (%s has more)", err, log.Name())
	}
	return true, err
}

// program is patchbay.
func (r *road) program() (string, error) {
	if r.Program != "" {
		return r.Program, nil
	}
	return detached.Beside("patchbay", cleanPath(lookup(r.Environ)("PATH"), r.Dir))
}

// root is the directory in which a daemon works that belongs to no project.
func root() string { return filepath.VolumeName(os.TempDir()) + string(filepath.Separator) }

func openLog(path string) (*os.File, error) {
	mode := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if info, err := os.Lstat(path); err == nil && info.Size() > maxDaemonLog {
		mode |= os.O_TRUNC
	}
	return os.OpenFile(path, mode, 0o600)
}
