package localsock

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// CheckPeer refuses a connection with somebody else's process. The modes of the socket and its directory say the same;
// this holds where they were loosened.
func CheckPeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var peer *unix.Ucred
	var peerErr error
	err = raw.Control(func(fd uintptr) { peer, peerErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err != nil {
		return err
	}
	if peerErr != nil {
		return fmt.Errorf("who is at the other end of the socket: %w", peerErr)
	}
	if uid := os.Geteuid(); int(peer.Uid) != uid && peer.Uid != 0 {
		return fmt.Errorf("process %d at the other end of the socket belongs to user %d, not %d", peer.Pid, peer.Uid, uid)
	}
	return nil
}
