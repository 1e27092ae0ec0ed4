//go:build unix

package cli

import "golang.org/x/sys/unix"

// mayWrite returns why no file can be made in a directory. It changes nothing.
func mayWrite(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }
