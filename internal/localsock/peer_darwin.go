package localsock

import "golang.org/x/sys/unix"

// peerOf asks the kernel who made the other end. Which process did, nobody here needs to know:
// there is no sandbox.
func peerOf(fd int) (uid, pid int, err error) {
	peer, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, 0, err
	}
	return int(peer.Uid), 0, nil
}
