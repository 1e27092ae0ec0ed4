//go:build linux || darwin

package localsock

import (
	"fmt"
	"net"
	"os"
)

// CheckPeer refuses a connection with somebody else's process. The modes of the socket and its
// directory say the same; this holds where they were loosened.
func CheckPeer(conn *net.UnixConn) error {
	_, err := Peer(conn)
	return err
}

// Peer is the process at the other end, which is the user's own; 0: one that this process cannot
// see, or a system that does not say.
func Peer(conn *net.UnixConn) (pid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var peer int
	var peerErr error
	if err := raw.Control(func(fd uintptr) { peer, pid, peerErr = peerOf(int(fd)) }); err != nil {
		return 0, err
	}
	if peerErr != nil {
		return 0, fmt.Errorf("who is at the other end of the socket: %w", peerErr)
	}
	if me := os.Geteuid(); peer != me && peer != 0 {
		return 0, fmt.Errorf("the process at the other end of the socket belongs to user %d, not %d", peer, me)
	}
	return pid, nil
}
