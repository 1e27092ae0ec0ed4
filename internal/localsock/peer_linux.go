package localsock

import "golang.org/x/sys/unix"

// peerOf returns the user and the pid of the process at the other end, as the kernel reports them.
// The pid is 0 if this process cannot see the other one.
func peerOf(fd int) (uid, pid int, err error) {
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, 0, err
	}
	return int(peer.Uid), int(peer.Pid), nil
}
