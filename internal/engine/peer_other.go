//go:build !linux

package engine

import "net"

// checkPeer trusts the modes of the socket and of its directory.
func checkPeer(*net.UnixConn) error { return nil }
