//go:build linux || darwin

package localsock

import (
	"fmt"
	"net"
	"os"
)

// CheckPeer refuses a connection with a process of another user, except root. The modes of the
// socket and of its directory already prevent such connections; this check protects if they were
// changed.
func CheckPeer(conn *net.UnixConn) error {
	_, err := Peer(conn)
	return err
}

// Peer returns the pid of the process at the other end, and an error if it belongs to another user,
// except root. The pid is 0 if this process cannot see the other one, or if the system does not
// report it.
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
		return 0, fmt.Errorf("determine the process at the other end of the socket: %w", peerErr)
	}
	if me := os.Geteuid(); peer != me && peer != 0 {
		return 0, fmt.Errorf("the process at the other end of the socket belongs to user %d, not %d", peer, me)
	}
	return pid, nil
}
