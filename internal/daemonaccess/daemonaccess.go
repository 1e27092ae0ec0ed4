package daemonaccess

import (
	"io"
	"net"
	"net/netip"

	"github.com/patchbay-dev/patchbay/internal/localsock"
)

// A Refusal is the error for a caller that is not served.
type Refusal struct {
	Inside bool   // true: it is in one of Patchbay's sandboxes; false: that cannot be determined
	Reason string // for the log and for the caller
}

func (r *Refusal) Error() string { return r.Reason }

// CheckCaller checks the process at the other end of a Unix socket, as [localsock.CheckPeer] does.
// It also refuses a process in one of Patchbay's sandboxes ([Refusal]), which must not call its
// host.
func CheckCaller(conn *net.UnixConn) error {
	pid, err := localsock.Peer(conn)
	if err != nil {
		return err
	}
	return Peer(pid)
}

// unknown returns the refusal of a caller that may or may not be in a sandbox.
func unknown(reason string) *Refusal {
	return &Refusal{Reason: "cannot tell whether the caller is in a sandbox: " + reason}
}

// A Listener is the listener of a daemon, whose address is announced.
type Listener struct {
	*net.TCPListener
	name io.Closer // the announcement
}

// Close closes the listener first, and then withdraws the announcement.
func (l *Listener) Close() error {
	err := l.TCPListener.Close()
	if nameErr := l.name.Close(); err == nil {
		err = nameErr
	}
	return err
}

// clean returns an address in the form in which addresses are compared: IPv4 within IPv6 as IPv4,
// and without a zone.
func clean(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}
