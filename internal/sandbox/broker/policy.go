package broker

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

const localhost = "localhost"

var (
	loopback4 = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	loopback6 = netip.IPv6Loopback()
)

// ports are those granted of one destination; 0 stands for all of them.
type ports []uint16

func (p ports) has(port uint16) bool { return slices.Contains(p, 0) || slices.Contains(p, port) }

// A policy is the grants of one plugin, and the addresses under which it sees granted names. It
// never changes.
type policy struct {
	names map[string]ports      // without localhost
	addrs map[netip.Addr]ports  // localhost is in here, as both its addresses
	fakes map[string]netip.Addr // of each name in names
	back  map[netip.Addr]string // the same the other way round

	here func(netip.Addr) bool // whether an address is this machine's own; nil: none is
}

func newPolicy(grants []Grant) *policy {
	p := &policy{
		names: map[string]ports{}, addrs: map[netip.Addr]ports{},
		fakes: map[string]netip.Addr{}, back: map[netip.Addr]string{},
	}
	for _, g := range grants {
		p.grant(g)
	}
	next := fakes.Addr()
	for _, g := range grants {
		next = p.assign(cleanName(g.Host), next)
	}
	return p
}

func (p *policy) grant(g Grant) {
	host := cleanName(g.Host)
	if addr, err := netip.ParseAddr(host); err == nil {
		g.Addr = addr
	}
	switch {
	case g.Addr.IsValid():
		p.grantAddr(g.Addr, g.Port)
	case host == localhost:
		p.grantAddr(loopback4, g.Port)
		p.grantAddr(loopback6, g.Port)
	case host != "":
		p.names[host] = append(p.names[host], g.Port)
	}
}

func (p *policy) grantAddr(a netip.Addr, port uint16) {
	a = a.Unmap()
	p.addrs[a] = append(p.addrs[a], port)
}

// assign gives name, if it is a granted one and has none, the first fake address after last that no
// grant is for. It returns the last address given. In the order of the grants, so that a plugin
// started again finds the same ones. Beyond the 131,071st name there are none left, and a name
// without one is not found by the plugin.
func (p *policy) assign(name string, last netip.Addr) netip.Addr {
	if _, granted := p.names[name]; !granted || p.fakes[name].IsValid() {
		return last
	}
	next := last.Next()
	for p.addrs[next] != nil {
		next = next.Next()
	}
	if !fakes.Contains(next) {
		return last
	}
	p.fakes[name], p.back[next] = next, name
	return next
}

// cleanName writes a DNS name as grants do: in lower case, without the dot at its end.
func cleanName(name string) string {
	return lower(strings.TrimSuffix(name, "."))
}

// lower is strings.ToLower for ASCII alone, as DNS and TLS compare names. The other makes a k of
// the Kelvin sign, and so would take for a granted name what a server may take for another.
func lower(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// A target is what a connection is for, once it is known to be granted.
type target struct {
	name string     // of a grant by name, or empty
	addr netip.Addr // of a grant by address
	port uint16
}

func (t target) String() string {
	if t.name == "" {
		return netip.AddrPortFrom(t.addr, t.port).String()
	}
	return t.name + ":" + strconv.Itoa(int(t.port))
}

// target is what the plugin means by the address to which it connected. The error is a Denial.
func (p *policy) target(dst netip.AddrPort) (target, error) {
	t := target{addr: dst.Addr().Unmap(), port: dst.Port()}
	granted := p.addrs[t.addr]
	if name, ok := p.back[t.addr]; ok {
		t = target{name: name, port: dst.Port()}
		granted = p.names[name]
	}
	if !granted.has(t.port) {
		return target{}, Denial{What: "connection to " + t.String(), Capability: "net:" + t.String()}
	}
	return t, nil
}

// usable are those of a name's addresses that may be dialled for it: public ones, and ones that a
// grant of their own allows. The error is a Denial of the first that may not.
//
// The other addresses are refused because who owns a public name decides what it resolves to, and
// could thereby reach any service that trusts the host's own network, or that only a firewall keeps
// from others.
func (p *policy) usable(t target, addrs []netip.Addr) ([]netip.AddrPort, error) {
	var usable []netip.AddrPort
	var denied error
	for _, a := range addrs {
		dst := netip.AddrPortFrom(a.Unmap(), t.port)
		kind := p.kind(a)
		switch {
		case kind == "" || p.addrs[dst.Addr()].has(t.port):
			usable = append(usable, dst)
		case denied == nil:
			denied = Denial{
				What:       fmt.Sprintf("connection to %s, which resolves to the %s address %s", t, kind, dst.Addr()),
				Capability: "net:" + dst.String(),
			}
		}
	}
	return usable, denied
}

// kind is special, and tells of this machine's own addresses as well.
func (p *policy) kind(a netip.Addr) string {
	kind := special(a)
	if kind == "" && p.here != nil && p.here(a.Unmap()) {
		return "machine's own"
	}
	return kind
}

// printName is a name that a plugin sent, fit for a message, and the capability for it; that is
// empty where no grant could hold the name.
func printName(name, port string) (printed, capability string) {
	if !isHostName(name) {
		return strconv.Quote(name[:min(len(name), 64)]), ""
	}
	return name, "net:" + name + ":" + port
}

// isHostName reports whether name is one that a grant can hold: an address, or a DNS name as
// package capability takes it, which this package does not know.
func isHostName(name string) bool {
	if _, err := netip.ParseAddr(name); err == nil {
		return !strings.Contains(name, ":") // a name of a plugin's with colons in it is no IPv6 address in brackets
	}
	labels := strings.Split(name, ".")
	digits := strings.Trim(labels[len(labels)-1], "0123456789") == "" // RFC 1123: the last label of a name is not all digits
	return len(name) <= 253 && !digits && !slices.ContainsFunc(labels, func(l string) bool { return !isLabel(l) })
}

// isLabel reports whether s is one part of a DNS name.
func isLabel(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789-_"
	return s != "" && len(s) <= 63 && s[0] != '-' && s[len(s)-1] != '-' && strings.Trim(s, letters) == ""
}
