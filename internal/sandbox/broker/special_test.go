package broker

import (
	"net/netip"
	"testing"
)

func TestSpecialAddresses(t *testing.T) {
	for addr, want := range map[string]string{
		"0.0.0.0":         "unspecified",
		"0.1.2.3":         "unspecified",
		"9.255.255.255":   "",
		"10.0.0.0":        "private",
		"10.255.255.255":  "private",
		"11.0.0.0":        "",
		"100.63.255.255":  "",
		"100.64.0.0":      "private",
		"100.100.100.200": "private",
		"100.127.255.255": "private",
		"100.128.0.0":     "",
		"126.255.255.255": "",
		"127.0.0.1":       "loopback",
		"127.255.255.255": "loopback",
		"128.0.0.0":       "",
		"168.63.129.16":   "cloud metadata",
		"168.63.129.17":   "",
		"169.253.255.255": "",
		"169.254.0.0":     "link-local",
		"169.254.169.254": "cloud metadata",
		"169.255.0.0":     "",
		"172.15.255.255":  "",
		"172.16.0.0":      "private",
		"172.31.255.255":  "private",
		"172.32.0.0":      "",
		"192.0.0.192":     "reserved",
		"192.0.2.7":       "", // documentation: nothing is reachable there
		"192.167.255.255": "",
		"192.168.0.0":     "private",
		"192.168.255.255": "private",
		"192.169.0.0":     "",
		"198.17.255.255":  "",
		"198.18.0.1":      "benchmarking",
		"198.19.255.255":  "benchmarking",
		"198.20.0.0":      "",
		"223.255.255.255": "",
		"224.0.0.1":       "multicast",
		"239.255.255.255": "multicast",
		"240.0.0.0":       "reserved",
		"255.255.255.255": "reserved",

		"::":                 "unspecified",
		"::1":                "loopback",
		"::2":                "reserved",
		"::10.0.0.7":         "reserved", // IPv4-compatible
		"::ffff:10.0.0.7":    "private",
		"::ffff:1.1.1.1":     "",
		"64:ff9b::7f00:1":    "loopback",
		"64:ff9b::a9fe:a9fe": "cloud metadata",
		"64:ff9b::101:101":   "",
		"64:ff9b:1::101:101": "reserved",
		"100::1":             "reserved",
		"1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff": "reserved",
		"2001::1":          "reserved", // Teredo
		"2001:1ff:ffff::":  "reserved",
		"2001:200::":       "",
		"2002:a00:7::1":    "private",
		"2002:c0a8:101::1": "private",
		"2002:101:101::1":  "",
		"2606:4700::1111":  "",
		"3fff:ffff::1":     "",
		"4000::1":          "reserved",
		"fbff::1":          "reserved",
		"fc00::1":          "private",
		"fd00:ec2::254":    "private",
		"fe80::1":          "link-local",
		"fe80::1%eth0":     "link-local",
		"fc00::1%eth0":     "private",
		"fec0::1":          "reserved",
		"ff02::1":          "multicast",
	} {
		if got := special(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s is %q, want %q", addr, got, want)
		}
	}
}

func TestInterleaveTakesTurnsBetweenFamilies(t *testing.T) {
	var in []netip.AddrPort
	for _, a := range []string{"2001:db8::1", "2001:db8::2", "2001:db8::3", "192.0.2.1"} {
		in = append(in, netip.AddrPortFrom(netip.MustParseAddr(a), 1))
	}
	got := interleave(in)
	for i, want := range []string{"2001:db8::1", "192.0.2.1", "2001:db8::2", "2001:db8::3"} {
		if got[i].Addr().String() != want {
			t.Fatalf("order %v", got)
		}
	}
}
