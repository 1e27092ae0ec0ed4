package builtin

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
)

// errAddress is returned for an address that refusesAddress refuses.
var errAddress = errors.New("the address is link-local, multicast or a cloud's metadata service: fetch does not go there")

// metadata lists the addresses at which clouds answer any request with the machine's credentials:
// those of Amazon and Google in IPv6, of Alibaba, and of Oracle. The well-known 169.254.169.254 is
// not in the list, because it is link-local.
var metadata = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"),
	netip.MustParseAddr("fd20:ce::254"),
	netip.MustParseAddr("100.100.100.200"),
	netip.MustParseAddr("192.0.0.192"),
}

// nat64 is the prefix under which an IPv4 address is reached from a network without IPv4 (RFC
// 6052).
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// refusesAddress reports whether fetch does not connect to an address. It connects to loopback and
// private addresses, where people develop.
func refusesAddress(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	if nat64.Contains(addr) {
		b := addr.As16()
		addr = netip.AddrFrom4([4]byte(b[12:]))
	}
	for _, m := range metadata {
		if addr == m {
			return true
		}
	}
	return addr.IsLinkLocalUnicast() || addr.IsMulticast()
}

// checkURL returns an error if a URL must not be fetched. It also checks a host that is written as
// an address. Dialling checks the address again, but if there is a proxy, the proxy dials for us.
func checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("the address begins with %s: only http:// and https:// are fetched", quoted(u.Scheme+":"))
	case u.Hostname() == "":
		return errors.New("the address names no host")
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil && refusesAddress(addr) {
		return errAddress
	}
	return nil
}

// checkDial checks each address after the name was resolved and before anything is sent there.
func checkDial(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if refusesAddress(to.Addr()) {
		return errAddress
	}
	return nil
}

// dialTimeout leaves time for a second address of a host whose first one does not answer.
const dialTimeout = fetchTimeout / 3

// guardTransport returns a transport that does not dial refused addresses.
func guardTransport(given http.RoundTripper) http.RoundTripper {
	if given == nil {
		given = http.DefaultTransport
	}
	t, ok := given.(*http.Transport)
	if !ok {
		return given
	}
	t = t.Clone()
	t.DialContext = (&net.Dialer{Timeout: dialTimeout, Control: checkDial}).DialContext
	t.DialTLSContext = nil
	//lint:ignore SA1019 it is deprecated, but still dials if it is set
	t.DialTLS = nil            //nolint:staticcheck // as above
	t.DisableKeepAlives = true // the connections would never be closed
	t.MaxResponseHeaderBytes = 256 << 10
	if proxy := t.Proxy; proxy != nil {
		t.Proxy = func(req *http.Request) (*url.URL, error) {
			u, err := proxy(req)
			if err != nil { // it quotes the setting, which may have a password
				return nil, errors.New("the proxy setting (HTTP_PROXY, HTTPS_PROXY) is not a valid address")
			}
			return u, nil
		}
	}
	return t
}
