// Package scratch makes temporary directories whose names identify the process that made them, and
// removes the directories of processes that have died.
//
//	Make    makes a directory, after Sweep
//	MakeIn  makes one in a directory of the caller
//	Left    lists those that dead processes have left
//	Sweep   removes those that dead processes have left
//	Remove  removes a directory that a hostile program could write to
package scratch

import (
	"crypto/sha256"
	"fmt"
	"os"

	"github.com/patchbay-dev/patchbay/internal/lease"
)

// prefix begins all names.
const prefix = "patchbay-"

// Make makes a directory in the system's directory for temporary files. Its name begins with
// "patchbay-" and the purpose. Make first removes the directories of dead processes there. left
// says which of them could not be removed; Make can succeed nevertheless.
func Make(purpose string) (path string, left, err error) {
	left = Sweep(os.TempDir())
	path, err = os.MkdirTemp("", prefix+purpose+"-"+owner(lease.Self())+"-")
	return path, left, err
}

// MakeIn makes such a directory in dir. Its name begins with a dot, so that a program that lists
// dir for its own purpose ignores it.
func MakeIn(dir, purpose string) (string, error) {
	return os.MkdirTemp(dir, "."+prefix+purpose+"-"+owner(lease.Self())+"-")
}

// owner identifies a process in a file name: by its process id, its start time, and a hash of the
// boot and the namespaces in which both are valid.
func owner(h lease.Holder) string {
	return fmt.Sprintf("p%d-s%d-m%s", h.PID, h.Start, digest(h.Machine))
}

func digest(machine string) string {
	sum := sha256.Sum256([]byte(machine))
	return fmt.Sprintf("%x", sum[:8])
}
