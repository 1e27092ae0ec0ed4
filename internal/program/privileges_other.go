//go:build !linux

package program

import "io/fs"

// gainsPrivileges returns false: it matters only for holding a program at its start, which is not
// done here.
func gainsPrivileges(string, fs.FileInfo) bool { return false }
