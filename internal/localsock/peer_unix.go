//go:build linux || darwin

package localsock

import (
	"fmt"
	"net"
	"os"
)

// CheckPeer refuses a connection with somebody else's process. The modes of the socket and its directory say the same;
// this holds where they were loosened.
func CheckPeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var peer int
	var peerErr error
	if err := raw.Control(func(fd uintptr) { peer, peerErr = peerOf(int(fd)) }); err != nil {
		return err
	}
	if peerErr != nil {
		return fmt.Errorf("who is at the other end of the socket: %w", peerErr)
	}
	if me := os.Geteuid(); peer != me && peer != 0 {
		return fmt.Errorf("the process at the other end of the socket belongs to user %d, not %d", peer, me)
	}
	return nil
}
