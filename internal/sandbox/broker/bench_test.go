package broker

import (
	"io"
	"net"
	"net/netip"
	"testing"
)

// BenchmarkConnect measures a connection, one byte in each direction, and its end: without the
// broker and through it.
func BenchmarkConnect(b *testing.B) {
	server := serve(b, echo)
	b.Run("direct", func(b *testing.B) { connectAll(b, server) })
	b.Run("broker", func(b *testing.B) { connectAll(b, brokered(b, server)) })
}

// BenchmarkBulk measures reading on one connection.
func BenchmarkBulk(b *testing.B) {
	server := serve(b, func(c *net.TCPConn) {
		buf := make([]byte, 64<<10)
		for {
			if _, err := c.Write(buf); err != nil {
				return
			}
		}
	})
	b.Run("direct", func(b *testing.B) { readAll(b, server) })
	b.Run("broker", func(b *testing.B) { readAll(b, brokered(b, server)) })
}

// brokered returns the address of a broker in front of server.
func brokered(b *testing.B, server string) string {
	dst := netip.MustParseAddrPort(server)
	broker := New(Options{Grants: []Grant{{Addr: dst.Addr(), Port: dst.Port()}}})
	broker.original = func(*net.TCPConn) netip.AddrPort { return dst }
	l := listen(b)
	go broker.ServeTCP(l)
	b.Cleanup(func() { broker.Close() })
	return l.Addr().String()
}

func connectAll(b *testing.B, addr string) {
	buf := make([]byte, 1)
	for b.Loop() {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Write(buf); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c, buf); err != nil {
			b.Fatal(err)
		}
		c.Close()
	}
}

func readAll(b *testing.B, addr string) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	buf := make([]byte, 64<<10)
	b.SetBytes(int64(len(buf)))
	for b.Loop() {
		if _, err := io.ReadFull(c, buf); err != nil {
			b.Fatal(err)
		}
	}
}
