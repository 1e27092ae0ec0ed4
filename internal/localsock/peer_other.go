//go:build !linux && !darwin

package localsock

import "net"

// CheckPeer trusts the modes of the socket and of its directory.
func CheckPeer(*net.UnixConn) error { return nil }

// CheckCaller trusts them, too. There is no sandbox here.
func CheckCaller(*net.UnixConn) error { return nil }
