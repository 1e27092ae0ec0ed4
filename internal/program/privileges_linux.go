package program

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// gainsPrivileges reports whether the kernel gives the program more rights than the host has. A
// program that is traced does not get them.
func gainsPrivileges(file string, info fs.FileInfo) bool {
	if info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		return true
	}
	_, err := unix.Getxattr(file, "security.capability", nil)
	return err == nil
}
