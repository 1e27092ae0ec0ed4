// Package scratch makes temporary directories whose names say which process made them, and removes
// those whose process has died before it could.
//
//	Make    a directory, after Sweep
//	MakeIn  one in a place of the caller's
//	Left    those that dead processes have left
//	Sweep   removes what dead processes have left
//	Remove  removes a directory that a hostile program could write
package scratch

import (
	"crypto/sha256"
	"fmt"
	"os"

	"github.com/patchbay-dev/patchbay/internal/lease"
)

// prefix begins all names.
const prefix = "patchbay-"

// Make makes a directory in the system's place for temporary files. Its name begins with
// "patchbay-" and what it is for. First it removes what dead processes have left there; left says
// what could not be removed, which is no reason not to go on.
func Make(purpose string) (path string, left, err error) {
	left = Sweep(os.TempDir())
	path, err = os.MkdirTemp("", prefix+purpose+"-"+owner(lease.Self())+"-")
	return path, left, err
}

// MakeIn makes such a directory in dir, with a dot before its name: nobody who lists dir for a
// purpose of their own takes it for one of theirs.
func MakeIn(dir, purpose string) (string, error) {
	return os.MkdirTemp(dir, "."+prefix+purpose+"-"+owner(lease.Self())+"-")
}

// owner names a process within a file name: its number, when it began, and a digest of the boot and
// the namespaces in which both mean something.
func owner(h lease.Holder) string {
	return fmt.Sprintf("p%d-s%d-m%s", h.PID, h.Start, digest(h.Machine))
}

func digest(machine string) string {
	sum := sha256.Sum256([]byte(machine))
	return fmt.Sprintf("%x", sum[:8])
}
