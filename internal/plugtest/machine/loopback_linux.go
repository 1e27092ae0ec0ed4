package machine

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// LoopbackUp brings up the loopback device, which is down in a new network namespace.
func LoopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request := struct { // struct ifreq
		name  [unix.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}{name: [unix.IFNAMSIZ]byte{'l', 'o'}, flags: unix.IFF_UP | unix.IFF_RUNNING}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return fmt.Errorf("loopback device: %w", errno)
	}
	return nil
}
