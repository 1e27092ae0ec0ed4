//go:build !linux

package broker

import (
	"net"
	"net/netip"
)

// originalDestination returns the address to which the plugin connected. Only Linux redirects
// connections.
func originalDestination(c *net.TCPConn) netip.AddrPort { return localAddress(c) }
