// Package scratch makes temporary directories whose names say which process made them, and removes those whose process has died before it could.
//
//	Make    a directory, after Sweep
//	Sweep   removes what dead processes have left
//	Remove  removes a directory that a hostile program could write
package scratch

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"

	"github.com/patchbay-dev/patchbay/internal/lease"
)

// prefix begins all names.
const prefix = "patchbay-"

// Make makes a directory in the system's place for temporary files. Its name begins with "patchbay-" and what it is for. First it removes what dead processes
// have left there; left says what could not be removed, which is no reason not to go on.
func Make(purpose string) (path string, left, err error) {
	left = Sweep(os.TempDir())
	path, err = os.MkdirTemp("", prefix+purpose+"-"+owner(lease.Self())+"-")
	return path, left, err
}

// owner names a process within a file name: its number, when it began, and a digest of the boot and the namespaces in which both mean something.
func owner(h lease.Holder) string {
	return fmt.Sprintf("p%d-s%d-m%s", h.PID, h.Start, digest(h.Machine))
}

func digest(machine string) string {
	sum := sha256.Sum256([]byte(machine))
	return fmt.Sprintf("%x", sum[:8])
}

// ownedName is a name that Make has given.
var ownedName = regexp.MustCompile(`^patchbay-.*-p([0-9]{1,10})-s([0-9]{1,20})-m([0-9a-f]{16})-[0-9]+$`)

// ownerOf is the process that a name speaks of. One of another machine, boot or namespace is nobody that could be asked for.
func ownerOf(name string, self lease.Holder) (h lease.Holder, ok bool) {
	m := ownedName.FindStringSubmatch(name)
	if m == nil || self.Machine == "" || m[3] != digest(self.Machine) {
		return lease.Holder{}, false
	}
	pid, err := strconv.Atoi(m[1])
	start, err2 := strconv.ParseUint(m[2], 10, 64)
	return lease.Holder{Machine: self.Machine, PID: pid, Start: start, Name: name}, errors.Join(err, err2) == nil
}
