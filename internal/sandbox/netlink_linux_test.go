package sandbox

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNetworkMessages compares the messages for a jail's network with the ones in testdata. These
// have the bytes that two libraries for netlink and nftables make for the same rules.
func TestNetworkMessages(t *testing.T) {
	route, ruleset := localRoute(unix.AF_INET), redirect([]uint16{80, 0}, loopback4, loopback6)
	got := decodeMessages(route, 12) + decodeMessages(ruleset, 4)
	want, err := os.ReadFile("testdata/network.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	lines, expected := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i, line := range lines {
		if i >= len(expected) || line != expected[i] {
			t.Fatalf("line %d is %q, want %q", i+1, line, slices.Concat(expected, make([]string, i+1))[i])
		}
	}
	t.Fatalf("%d lines, want %d", len(lines), len(expected))
}

// decodeMessages returns a line for each message and for each of its attributes, which follow a
// header of the given size.
func decodeMessages(data []byte, header int) string {
	var out strings.Builder
	for len(data) > 0 {
		size := binary.NativeEndian.Uint32(data)
		fmt.Fprintf(&out, "message %#x, %d bytes, flags %#x, sequence %d, port %d, header %x\n", binary.NativeEndian.Uint16(data[4:]), size,
			binary.NativeEndian.Uint16(data[6:]), binary.NativeEndian.Uint32(data[8:]), binary.NativeEndian.Uint32(data[12:]), data[unix.SizeofNlMsghdr:][:header])
		decodeAttributes(&out, data[unix.SizeofNlMsghdr+header:size], "  ")
		data = data[size:]
	}
	return out.String()
}

func decodeAttributes(out *strings.Builder, data []byte, indent string) {
	for len(data) > 0 {
		size, kind := int(binary.NativeEndian.Uint16(data)), binary.NativeEndian.Uint16(data[2:])
		inside := data[unix.SizeofNlAttr:size]
		if nest := kind &^ unix.NLA_F_NESTED; nest != kind {
			fmt.Fprintf(out, "%s%d, %d bytes\n", indent, nest, size)
			decodeAttributes(out, inside, indent+"  ")
		} else {
			fmt.Fprintf(out, "%s%d, %d bytes: %x\n", indent, kind, size, inside)
		}
		data = data[(size+unix.NLA_ALIGNTO-1)&^(unix.NLA_ALIGNTO-1):]
	}
}
