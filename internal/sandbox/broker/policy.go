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

// ports are the granted ports of one destination. 0 stands for all of them.
type ports []uint16

func (p ports) has(port uint16) bool { return slices.Contains(p, 0) || slices.Contains(p, port) }

// A policy holds the grants of one plugin and the addresses under which the plugin sees granted
// names. It is immutable.
type policy struct {
	names map[string]ports      // without localhost
	addrs map[netip.Addr]ports  // includes both addresses of localhost
	fakes map[string]netip.Addr // the fake address of each name in names
	back  map[netip.Addr]string // the inverse of fakes

	here func(netip.Addr) bool // reports whether an address is this machine's own; may be nil
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

// assign gives a fake address to a granted name that has none yet. It takes the first address after
// last that is not granted itself. It returns the last address that was assigned. Addresses are
// assigned in the order of the grants, so that a plugin that is started again sees the same ones.
// There are 131,071 of them; a name beyond that gets none, and the plugin cannot look it up.
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

// cleanName returns a DNS name as grants have it: in lower case, without the dot at its end.
func cleanName(name string) string {
	return lower(strings.TrimSuffix(name, "."))
}

// lower is strings.ToLower for ASCII only, as DNS and TLS compare names. strings.ToLower also turns
// the Kelvin sign into a k. A name with that sign would then be taken for a granted one, although
// servers treat it as another name.
func lower(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// A target is the destination of a connection that was found to be granted.
type target struct {
	name string     // of a grant by name; empty otherwise
	addr netip.Addr // of a grant by address
	port uint16
}

func (t target) String() string {
	if t.name == "" {
		return netip.AddrPortFrom(t.addr, t.port).String()
	}
	return t.name + ":" + strconv.Itoa(int(t.port))
}

// target returns the destination that the plugin means by an address. The error is a Denial.
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

// usable returns the addresses of a name that may be dialled for it: public ones, and those with a
// grant of their own. The error is a Denial of the first other address.
//
// The owner of a public name decides which addresses it resolves to. Without this check the owner
// could reach any service that trusts the host's own network or is protected only by a firewall.
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

// kind is like special, and also recognises this machine's own addresses.
func (p *policy) kind(a netip.Addr) string {
	kind := special(a)
	if kind == "" && p.here != nil && p.here(a.Unmap()) {
		return "machine's own"
	}
	return kind
}

// printName returns a name as it is shown in a message, and the capability that would grant it. The
// name comes from a plugin and may be any text. The capability is empty if no grant can contain the
// name.
func printName(name, port string) (printed, capability string) {
	if !isHostName(name) {
		return strconv.Quote(name[:min(len(name), 64)]), ""
	}
	return name, "net:" + name + ":" + port
}

// isHostName reports whether a grant can contain the name: an address, or a DNS name with the
// syntax of package capability, which this package does not import.
func isHostName(name string) bool {
	if _, err := netip.ParseAddr(name); err == nil {
		return !strings.Contains(name, ":") // a grant has an IPv6 address in brackets, and this name has none
	}
	labels := strings.Split(name, ".")
	digits := strings.Trim(labels[len(labels)-1], "0123456789") == "" // RFC 1123: the last label of a name is not all digits
	return len(name) <= 253 && !digits && !slices.ContainsFunc(labels, func(l string) bool { return !isLabel(l) })
}

// isLabel reports whether s is one label of a DNS name.
func isLabel(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789-_"
	return s != "" && len(s) <= 63 && s[0] != '-' && s[len(s)-1] != '-' && strings.Trim(s, letters) == ""
}
