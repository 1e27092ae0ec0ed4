//go:build !linux

package broker

import (
	"net"
	"net/netip"
)

// originalDestination is the address to which the plugin connected. Only Linux redirects.
func originalDestination(c *net.TCPConn) netip.AddrPort { return localAddress(c) }
