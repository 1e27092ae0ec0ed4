package localsock

import "golang.org/x/sys/unix"

// peerOf returns the user of the process at the other end, as the kernel reports it. The pid is
// only needed for the sandbox, which does not exist here.
func peerOf(fd int) (uid, pid int, err error) {
	peer, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, 0, err
	}
	return int(peer.Uid), 0, nil
}
