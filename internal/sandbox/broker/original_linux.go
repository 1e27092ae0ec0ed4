package broker

import (
	"encoding/binary"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// originalDestination returns the address to which the plugin connected before the namespace's rule
// redirected the connection. Without redirection it is the local address.
func originalDestination(c *net.TCPConn) netip.AddrPort {
	local := localAddress(c)
	raw, err := c.SyscallConn()
	if err != nil {
		return local
	}
	original := local
	_ = raw.Control(func(fd uintptr) { // fails on a closed connection, for which any result will do
		if local.Addr().Is4() {
			original, err = original4(int(fd))
		} else {
			original, err = original6(int(fd))
		}
	})
	if err != nil {
		return local
	}
	return original
}

// original4 reads SO_ORIGINAL_DST, which is a sockaddr_in: family, port, address. It uses the type
// of another option that is large enough, which avoids package unsafe.
func original4(fd int) (netip.AddrPort, error) {
	sa, err := unix.GetsockoptIPv6Mreq(fd, unix.SOL_IP, unix.SO_ORIGINAL_DST)
	if err != nil {
		return netip.AddrPort{}, err
	}
	raw := sa.Multiaddr
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte(raw[4:8])), binary.BigEndian.Uint16(raw[2:4])), nil
}

// original6 reads IP6T_SO_ORIGINAL_DST, which has the same number and is a sockaddr_in6.
func original6(fd int) (netip.AddrPort, error) {
	sa, err := unix.GetsockoptIPv6MTUInfo(fd, unix.SOL_IPV6, unix.SO_ORIGINAL_DST)
	if err != nil {
		return netip.AddrPort{}, err
	}
	var port [2]byte
	binary.NativeEndian.PutUint16(port[:], sa.Addr.Port) // the kernel's bytes are in network order
	return netip.AddrPortFrom(netip.AddrFrom16(sa.Addr.Addr), binary.BigEndian.Uint16(port[:])), nil
}
