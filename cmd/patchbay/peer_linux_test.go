package main

import "golang.org/x/sys/unix"

// peerPID returns the process at the other end of a socket.
func peerPID(fd int) int {
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0
	}
	return int(peer.Pid)
}
