package sandbox

import (
	"os"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
)

// A draft is a plan before it is encoded for the kernel. In addition to the jail's plan it holds
// the rules that the kernel enforces. finish encodes them, so that the jail need not contain code
// for that, and starts quickly.
type draft struct {
	jail.Plan
	Exec       []string   // the files that may be executed, and directories with everything below, as seen inside
	Access     []access   // Simple only: the paths that may be used
	Loopback   []uint16   // ports of 127.0.0.1 and ::1 that lead to the host's loopback interface; 0: all of them
	NoUnix     bool       // no Unix sockets other than pairs may be created, because the plugin sees files of the outside and sockets may be among them
	Attributes attributes // Simple only: how attributes of files may be accessed
	Sockets    bool       // the plugin was granted a network, so Internet sockets may be created

	absent  []Tree            // what may be read and does not exist
	trees   []Tree            // what the process sees, for people
	because map[string]string // why each tree is there, by its path
}

// access says what a path may be used for where only Landlock restricts it.
type access struct {
	Path  string
	Write bool
}

// attributes says how a program may access modes, owners, times and extended attributes of files
// where only the filter restricts it.
type attributes struct {
	Read         bool // everything may be read, extended attributes by path too
	ByPath       bool // everything may be changed
	ByDescriptor bool // something may be changed
}

// attributesOf derives the attributes from the grants. Attributes can be changed through a
// descriptor that was opened for reading. So a plugin that may write nothing must not change
// attributes through any descriptor.
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

// finish encodes the rules for the kernel. notes lists what is not available on this machine.
func (d *draft) finish() (notes []string) {
	d.User, d.Group = os.Geteuid(), os.Getegid()
	version := landlockVersion()
	d.Landlock = d.landlock(version)
	if version == 0 && !d.Simple {
		notes = append(notes, "no Landlock: every program in sight may be executed")
	}
	if filterHere {
		d.Filter = bytesOf(d.filter(version))
	}
	if d.Net.Broker {
		d.encodeNetwork()
	}
	return notes
}
