package localsock

import "golang.org/x/sys/unix"

// peerOf asks the kernel who made the other end, and which process did; 0: one that this process
// cannot see.
func peerOf(fd int) (uid, pid int, err error) {
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, 0, err
	}
	return int(peer.Uid), int(peer.Pid), nil
}
