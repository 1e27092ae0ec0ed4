package sandbox

import (
	"context"
	"log/slog"
	"net"
	"net/netip"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/doors"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox/broker"
)

// A Denial is something a plugin tried and may not do, as far as the host hears of it.
type Denial = broker.Denial

// Options say what a plugin may do.
type Options struct {
	Grants []capability.Capability
	Own    []string // the plugin's own files and directories: to be read and executed, not to be changed

	// Environ is the operator's own environment: a program that its PATH finds may be mounted.
	Environ []string

	// Guarded are Patchbay's own places, which no grant may open. Lent are those within them that
	// the host itself gives this program.
	Guarded []Place
	Lent    []string

	AnyProgram bool // every program of the system may be started
	ReadAll    bool // everything the host's user may read may be read and executed; only changes and the network are restricted

	// OnPlan is told, before each start, what the process will see of the file system; may be nil.
	OnPlan func([]Tree)
	// OnDenied is told of connections and names that were refused, on a goroutine of its own; may
	// be nil.
	OnDenied func(Denial)
	Log      *slog.Logger // nil discards

	// System is what can be enforced here; nil: everything, and a start that cannot have it all
	// fails.
	System *System

	// For those who test: how granted names are resolved and addresses dialled; nil: as usual.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	Dial    func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)
}

// A Place is a file or directory that is Patchbay's own.
type Place struct {
	Path   string
	Make   bool // a directory that is made where it is missing and a plugin could make it
	Hidden bool // not to be read either
	Around bool // a file, with which the directory around it is kept from changes
	Yields bool // it only tells plugins something: with Landlock alone, which cannot cover it, a grant around it is not refused
}

// A Tree is a file or directory that a process in a box sees, with all below it.
type Tree struct {
	Path    string
	Access  Access
	Because string // why it is there
}

// Access is what may be done to a tree.
type Access string

// The kinds of access. Each includes the first.
const (
	Read    Access = "read"
	Execute Access = "execute"
	Write   Access = "write"
)

// Why a tree is there that every box has.
const (
	BecauseSystem = "part of the system"
	BecauseMemory = "its own, in memory"
	BecauseDevice = "a device that every program needs"
)

// A Box is the sandbox of one plugin. Each process started in it has one of its own, after the same
// plan.
type Box struct {
	opts Options
}

// New makes a box. It starts nothing, and looks at nothing until a process is started.
func New(o Options) *Box {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Box{opts: o}
}

var _ proc.Box = (*Box)(nil)

// destinations are the grants as the broker wants them.
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

// ownDoor says why no plugin may connect to an address whatever it was granted: a daemon of
// Patchbay's would let it in, and run its code outside.
func ownDoor(addr netip.AddrPort) string {
	found, err := doors.At(addr)
	switch {
	case err != nil:
		return "where a Patchbay daemon may listen, which no plugin in a sandbox may use: " + err.Error()
	case found:
		return "where a Patchbay daemon listens, which no plugin in a sandbox may use"
	}
	return ""
}

// isLoopback reports whether a granted host is this machine itself.
func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}
