//go:build !linux

package program

// gainsPrivileges is false: it is asked only for the sake of holding, and nothing is held here.
func gainsPrivileges(string) bool { return false }
