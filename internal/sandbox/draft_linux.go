package sandbox

import (
	"fmt"
	"os"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
)

// A draft is a plan in this package's words: beside what the jail does as it is told, what only the
// kernel can keep. finish puts that into the kernel's words, so that the jail need not know them:
// its processes are to start quickly.
type draft struct {
	jail.Plan
	Exec       []string   // what may be executed, as seen inside: files, and directories with all below
	Access     []access   // Simple only: what may be touched
	Loopback   []uint16   // ports of 127.0.0.1 and ::1 that lead to the host's; 0: all of them
	NoUnix     bool       // no sockets in the file system may be connected to: none of that kind are made
	Attributes attributes // Simple only: by what way it may get at attributes of files
	Sockets    bool       // the network is there to be used (any): forbid only the kinds of socket that nobody needs

	notes   []string          // what is not as the plugin's author may expect
	trees   []Tree            // what is there, for people
	because map[string]string // why, by where it comes from
}

// access is what a path may be used for where only Landlock can tell.
type access struct {
	Path  string
	Write bool
}

// attributes says by what way a program may get at modes, owners, times and extended attributes of
// files where only the filter can tell.
type attributes struct {
	Read         bool // everything may be read: extended attributes too, by path
	ByPath       bool // everything may be changed
	ByDescriptor bool // something may be changed
}

// attributesOf works out what grants allow. Attributes can be changed by a descriptor that was
// opened for reading, so a plugin that may write nothing must not change attributes by any
// descriptor.
func attributesOf(o *Options) attributes {
	a := attributes{Read: o.ReadAll}
	for _, g := range o.Grants {
		write := g.Kind == capability.WriteFS
		a.ByDescriptor = a.ByDescriptor || write
		a.ByPath = a.ByPath || write && g.Path == "/"
		a.Read = a.Read || isFile(g) && g.Path == "/"
	}
	return a
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
		d.Filter = bytesOf(d.filter(version))
	}
	if d.Net.Broker {
		if err := d.wire(); err != nil {
			return nil, fmt.Errorf("what the kernel is told of the network: %w", err)
		}
	}
	return notes, nil
}
