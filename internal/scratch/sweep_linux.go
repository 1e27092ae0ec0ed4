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

// Sweep removes the directories in dir that processes of this user left when they were killed. It
// decides by the process alone, never by age: a directory stays if its process is alive or cannot
// be checked from here.
func Sweep(dir string) error {
	left, err := Left(dir)
	errs := []error{err}
	for _, path := range left {
		if err := Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // another process may have removed it
			errs = append(errs, fmt.Errorf("%s, which a dead process has left: %w", path, err))
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

// isOwnDir reports whether path is a directory of this user: other users may make such names, too.
func isOwnDir(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// ownedName matches the names that Make gives.
var ownedName = pattern.New(`^\.?patchbay-.*-p([0-9]{1,10})-s([0-9]{1,20})-m([0-9a-f]{16})-[0-9]+$`)

// ownerOf returns the process that a name identifies. It returns false for a process of another
// machine, boot or namespace, since it cannot be checked here.
func ownerOf(name string, self lease.Holder) (h lease.Holder, ok bool) {
	m := ownedName.Regexp().FindStringSubmatch(name)
	if m == nil || self.Machine == "" || m[3] != digest(self.Machine) {
		return lease.Holder{}, false
	}
	pid, err := strconv.Atoi(m[1])
	start, err2 := strconv.ParseUint(m[2], 10, 64)
	return lease.Holder{Machine: self.Machine, PID: pid, Start: start, Name: name}, errors.Join(err, err2) == nil
}
