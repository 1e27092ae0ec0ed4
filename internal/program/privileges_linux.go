package program

import "golang.org/x/sys/unix"

// gainsPrivileges reports whether the kernel gives the program more rights than the host has. It
// does not do that for a program that is traced.
func gainsPrivileges(file string) bool {
	var stat unix.Stat_t
	if unix.Stat(file, &stat) != nil {
		return false // it will not start either
	}
	if stat.Mode&(unix.S_ISUID|unix.S_ISGID) != 0 {
		return true
	}
	_, err := unix.Getxattr(file, "security.capability", nil)
	return err == nil
}
