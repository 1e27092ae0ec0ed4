package broker

import "net/netip"

// A block is a range of addresses to which no public name should resolve.
type block struct {
	prefix netip.Prefix
	kind   string // as in "the … address 10.0.0.7"
}

// blocks follows the IANA registries of special-purpose addresses (RFC 6890). The documentation
// ranges are left out, because nothing is reachable there. A narrow range comes before a wider one
// that contains it, so that its kind is reported.
var blocks = []block{
	{netip.MustParsePrefix("0.0.0.0/8"), "unspecified"}, // RFC 1122: "this network"; Linux takes 0.0.0.0 for itself
	{netip.MustParsePrefix("10.0.0.0/8"), "private"},
	{netip.MustParsePrefix("100.64.0.0/10"), "private"}, // RFC 6598, carriers' NAT; Alibaba's metadata service
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("168.63.129.16/32"), "cloud metadata"},   // Azure's, although its number is public
	{netip.MustParsePrefix("169.254.169.254/32"), "cloud metadata"}, // nearly all other clouds'
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},
	{netip.MustParsePrefix("172.16.0.0/12"), "private"},
	{netip.MustParsePrefix("192.0.0.0/24"), "reserved"}, // RFC 6890; Oracle's metadata service
	{netip.MustParsePrefix("192.168.0.0/16"), "private"},
	{fakes, "benchmarking"}, // RFC 2544, and the broker's fake addresses
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"}, // with 255.255.255.255

	{netip.MustParsePrefix("::/128"), "unspecified"},
	{netip.MustParsePrefix("::1/128"), "loopback"},
	{netip.MustParsePrefix("fc00::/7"), "private"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
	{netip.MustParsePrefix("2001::/23"), "reserved"}, // RFC 2928: Teredo, benchmarking, ORCHID
}

var (
	fakes         = netip.MustParsePrefix("198.18.0.0/15")
	globalUnicast = netip.MustParsePrefix("2000::/3")     // RFC 4291: the only global unicast IPv6 addresses so far
	nat64         = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052: an IPv4 address in the last four bytes
	sixToFour     = netip.MustParsePrefix("2002::/16")    // RFC 3056: an IPv4 address in bytes 2 to 5
)

// special returns the kind of an address that is not on the public network: "loopback", "private"
// and so on. It returns "" for a public address. For an IPv4 address within an IPv6 one, the IPv4
// address counts, because the packets end there.
func special(a netip.Addr) string {
	a = a.Unmap().WithZone("") // Prefix.Contains is false for every address with a zone
	for _, b := range blocks {
		if b.prefix.Contains(a) {
			return b.kind
		}
	}
	if !a.Is6() {
		return ""
	}
	bytes := a.As16()
	switch {
	case nat64.Contains(a):
		return special(netip.AddrFrom4([4]byte(bytes[12:])))
	case sixToFour.Contains(a):
		return special(netip.AddrFrom4([4]byte(bytes[2:6])))
	case !globalUnicast.Contains(a):
		return "reserved" // IPv4-compatible ::a.b.c.d, site-local, local-use NAT64, and unassigned addresses
	}
	return ""
}
