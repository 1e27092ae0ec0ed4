package doors

import (
	"io"
	"net"
	"net/netip"

	"github.com/patchbay-dev/patchbay/internal/localsock"
)

// A Refusal is why a caller is not served.
type Refusal struct {
	Inside bool   // it is in one of our sandboxes; else that cannot be told
	Reason string // for the log and for the caller
}

func (r *Refusal) Error() string { return r.Reason }

// CheckCaller is [localsock.CheckPeer] for those who accept connections on a Unix socket: it also
// refuses a process in one of our sandboxes ([Refusal]), which must not use what serves its host.
func CheckCaller(conn *net.UnixConn) error {
	pid, err := localsock.Peer(conn)
	if err != nil {
		return err
	}
	return Peer(pid)
}

// unknown is the refusal of a caller that may be in a sandbox or not.
func unknown(reason string) *Refusal {
	return &Refusal{Reason: "cannot tell whether the caller is in a sandbox: " + reason}
}

// A Door is a listener that others know to be a daemon's.
type Door struct {
	*net.TCPListener
	name io.Closer // the announcement
}

// Close stops listening, and only then takes the announcement back.
func (d *Door) Close() error {
	err := d.TCPListener.Close()
	if nameErr := d.name.Close(); err == nil {
		err = nameErr
	}
	return err
}

// clean writes an address in the one way in which addresses are compared: IPv4 inside IPv6 as IPv4,
// and without a zone.
func clean(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}
