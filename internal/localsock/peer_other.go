//go:build !linux && !darwin

package localsock

import "net"

// CheckPeer trusts the modes of the socket and of its directory.
func CheckPeer(*net.UnixConn) error { return nil }
