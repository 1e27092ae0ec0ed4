//go:build !linux

package doors

import (
	"io"
	"net"
	"net/netip"
	"strings"
)

// Announce does nothing: there is no sandbox here, and so no broker that would look for daemons.
func Announce(l *net.TCPListener) (*Door, error) {
	return &Door{TCPListener: l, name: io.NopCloser(strings.NewReader(""))}, nil
}

// At finds no daemon: no broker asks here.
func At(netip.AddrPort) (bool, error) { return false, nil }

// Caller refuses no caller: there is no sandbox here.
func Caller(_, _ netip.AddrPort) error { return nil }

// Peer refuses no process: there is no sandbox here.
func Peer(int) error { return nil }
