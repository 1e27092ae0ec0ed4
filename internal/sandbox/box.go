package sandbox

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/netip"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/daemonaccess"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox/broker"
)

// A Denial is an attempt of a plugin that the host refused. The host sees only refused names and
// connections; refused files and programs never reach it.
type Denial = broker.Denial

// Options say what a plugin may do.
type Options struct {
	Grants []capability.Capability
	Own    []string // the plugin's own files and directories, which it may read and execute but not change

	// Environ is the operator's environment. A program found by its PATH may be mounted.
	Environ []string

	// Guarded lists Patchbay's own places, which no grant may open. Lent lists the paths within
	// them that the host itself grants to this program.
	Guarded []Place
	Lent    []string

	AnyProgram bool // the plugin may start every program of the system
	ReadAll    bool // the plugin may read and execute everything that the host's user may; only changes and the network are restricted

	// OnPlan is called before each start with the trees that the process will see. It may be nil.
	OnPlan func([]Tree)
	// OnDenied is called, on its own goroutine, for each name and connection that was refused. It
	// may be nil.
	OnDenied func(Denial)
	Log      *slog.Logger // nil discards

	// System says what can be enforced here. If it is nil, everything is assumed to be enforceable,
	// and a start fails if it is not.
	System *System

	// Resolve and Dial are for tests: they replace how granted names are resolved and addresses
	// dialled. If they are nil, the host's resolver and network are used.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	Dial    func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)
}

// A Place is a file or directory that belongs to Patchbay and that plugins may not change.
type Place struct {
	Path    string
	Make    bool // a directory; it is created if it is missing and a plugin could create it
	Shared  bool // when it is created, other users may read it
	Hidden  bool // plugins may not read it either
	WithDir bool // a file; the directory that contains it may not be changed either
	// BestEffort is set for a project's .patchbay, which only contains config for plugins. Landlock
	// alone cannot cover a place within a grant. Such a grant is refused for other places. For
	// this place it is accepted, and the place stays unprotected.
	BestEffort bool
}

// A Tree is a file, or a directory with everything below it, that a process in a box sees.
type Tree struct {
	Path    string
	Access  Access
	Because string // why the process sees it
}

// Access says what a process may do to a tree.
type Access string

// The kinds of access. Execute and Write include Read.
const (
	Read    Access = "read"
	Execute Access = "execute"
	Write   Access = "write"
	Absent  Access = "missing" // it may be read, but does not exist
)

// The reasons for the trees that every box has.
const (
	BecauseSystem = "part of the system"
	BecauseMemory = "its own, in memory"
	BecauseDevice = "a device that every program needs"
)

// A Box is the sandbox of one plugin. Each process started in it gets its own jail, built by the
// same rules.
type Box struct {
	opts Options
}

// New returns a box with the given options. It reads nothing and starts nothing; that happens when
// a process is started.
func New(o Options) *Box {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Box{opts: o}
}

var _ proc.Box = (*Box)(nil)

// destinations returns the granted hosts in the broker's form.
func destinations(grants []capability.Capability) []broker.Grant {
	var list []broker.Grant
	for _, g := range grants {
		if g.Kind != capability.NetHost {
			continue
		}
		d := broker.Grant{Host: g.Host, Port: uint16(g.Port)}
		if addr, err := netip.ParseAddr(g.Host); err == nil {
			d.Host, d.Addr = "", addr
		}
		list = append(list, d)
	}
	return list
}

// whyRefused returns why a plugin may not connect to an address, whatever it was granted: a
// Patchbay daemon that listens there would run the plugin's code outside the sandbox. It returns ""
// if no daemon listens there.
func whyRefused(addr netip.AddrPort) string {
	found, err := daemonaccess.At(addr)
	switch {
	case err != nil:
		return "where a Patchbay daemon may listen, which no plugin in a sandbox may use: " + err.Error()
	case found:
		return "where a Patchbay daemon listens, which no plugin in a sandbox may use"
	}
	return ""
}

// isLoopback reports whether a granted host is the loopback interface of this machine.
func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}
