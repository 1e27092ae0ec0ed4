package engine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/filelock"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// errLocked is returned if another process, or another engine in this process, has the lock.
var errLocked = filelock.ErrLocked

// lockName is the file in the data directory whose lock makes a process the owner. It is never
// removed: a process could then hold a lock on the removed file while another locks a new one.
const lockName = "lock"

// A fileLock is the right to run the server on a data directory. The kernel releases it when the
// process ends in any way.
type fileLock struct{ file *os.File }

// tryLock takes the lock of a directory, or returns errLocked. It writes the process number into
// the file, for the error messages of other processes.
func tryLock(dir string) (*fileLock, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := filelock.Try(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := writePID(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &fileLock{file: f}, nil
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// release releases the lock by closing the file.
func (l *fileLock) release() error { return l.file.Close() }

// holder returns the process whose number is in a directory's lock file, or 0 if it is not known.
func holder(dir string) int {
	f, err := plainfile.Open(filepath.Join(dir, lockName))
	if err != nil {
		return 0
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
}

// A DirError says why the data directory cannot be made.
type DirError struct{ Err error }

func (e *DirError) Error() string { return fmt.Sprintf("data directory: %v; %s", e.Err, e.Fix()) }
func (e *DirError) Unwrap() error { return e.Err }

// Fix tells what to do about it.
func (e *DirError) Fix() string {
	return "let your user write there, or set $PATCHBAY_HOME to a directory that your user can write to"
}

// A HeldError reports that a process has the data directory and does not share it.
type HeldError struct {
	Dir string
	PID int   // 0: not known
	Err error // why it could not be reached
}

func (e *HeldError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("data directory %s: %s holds it and does not answer (%v); %s", e.Dir, who, e.Err, e.Fix())
}

// Fix tells what to do about it.
func (e *HeldError) Fix() string {
	if e.PID == 0 {
		return "end that process, or use another directory"
	}
	return fmt.Sprintf("if it stays so, `kill -9 %d` ends it, and the next process cleans up; or use another directory", e.PID)
}

func (e *HeldError) Unwrap() []error { return []error{ErrUnavailable, e.Err} }
