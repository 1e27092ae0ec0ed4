package sandbox

import (
	"fmt"
	"os"

	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
)

// A draft is a plan in this package's words: beside what the jail does as it is told, what only the kernel can keep. finish puts
// that into the kernel's words, so that the jail need not know them: its processes are to start quickly.
type draft struct {
	jail.Plan
	Exec     []string // what may be executed, as seen inside: files, and directories with all below
	Access   []access // Simple only: what may be touched
	Loopback []uint16 // ports of 127.0.0.1 and ::1 that lead to the host's; 0: all of them
	NoUnix   bool     // no sockets in the file system may be connected to: none of that kind are made
	Sockets  bool     // the network is there to be used (any): forbid only the kinds of socket that nobody needs

	notes   []string          // what is not as the plugin's author may expect
	trees   []Tree            // what is there, for people
	because map[string]string // why, by where it comes from
}

// access is what a path may be used for where only Landlock can tell.
type access struct {
	Path  string
	Write bool
}

// finish works out what the kernel is told. notes are what cannot be had here.
func (d *draft) finish() (notes []string, err error) {
	d.User, d.Group = os.Geteuid(), os.Getegid()
	notes = d.notes
	version := landlockVersion()
	d.Landlock = d.landlock(version)
	if version == 0 && !d.Simple {
		notes = append(notes, "no Landlock: every program in sight may be executed")
	}
	if filterHere {
		d.Filter = bytesOf(d.filter())
	}
	if d.Net.Broker {
		if err := d.wire(); err != nil {
			return nil, fmt.Errorf("what the kernel is told of the network: %w", err)
		}
	}
	return notes, nil
}
