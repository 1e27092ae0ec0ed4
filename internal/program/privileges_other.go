//go:build !linux

package program

// gainsPrivileges returns false: it matters only for holding a program at its start, which is not
// done here.
func gainsPrivileges(string) bool { return false }
