package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/patchbay-dev/patchbay/internal/lease"
	"github.com/patchbay-dev/patchbay/internal/pattern"
)

// Sweep removes the directories in dir that processes of this user have made and left, since they
// were killed. It goes by the process alone, never by age: one whose process lives, or cannot be
// known from here, stays.
func Sweep(dir string) error {
	left, err := Left(dir)
	errs := []error{err}
	for _, path := range left {
		if err := Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // another process may sweep, too
			errs = append(errs, fmt.Errorf("%s, which a process that died has left: %w", path, err))
		}
	}
	return errors.Join(errs...)
}

// Left lists the directories in dir that Sweep removes.
func Left(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	self := lease.Self()
	var left []string
	for _, e := range entries {
		h, ok := ownerOf(e.Name(), self)
		if path := filepath.Join(dir, e.Name()); ok && h.State() == lease.Dead && isOwnDir(path) {
			left = append(left, path)
		}
	}
	return left, nil
}

// isOwnDir reports whether a path is a directory, and this user's: others may make such names.
func isOwnDir(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// ownedName is a name that Make has given.
var ownedName = pattern.New(`^\.?patchbay-.*-p([0-9]{1,10})-s([0-9]{1,20})-m([0-9a-f]{16})-[0-9]+$`)

// ownerOf is the process that a name speaks of. One of another machine, boot or namespace is nobody
// that could be asked for.
func ownerOf(name string, self lease.Holder) (h lease.Holder, ok bool) {
	m := ownedName.Regexp().FindStringSubmatch(name)
	if m == nil || self.Machine == "" || m[3] != digest(self.Machine) {
		return lease.Holder{}, false
	}
	pid, err := strconv.Atoi(m[1])
	start, err2 := strconv.ParseUint(m[2], 10, 64)
	return lease.Holder{Machine: self.Machine, PID: pid, Start: start, Name: name}, errors.Join(err, err2) == nil
}
