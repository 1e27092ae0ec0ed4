//go:build unix

package program

import (
	"errors"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// openNonblock opens a named pipe without waiting for its writer.
const openNonblock = syscall.O_NONBLOCK

// Busy reports whether err is the error of starting a file that is open for writing. It is
// temporary: if one goroutine writes a plugin's file while another forks, the new process holds the
// file open until its exec.
func Busy(err error) bool { return errors.Is(err, syscall.ETXTBSY) }

// executable reports whether this process may execute the file.
func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && unix.Access(path, unix.X_OK) == nil
}

// candidates returns the file names that a program may have in a directory of PATH.
func candidates(name string, _ []string) []string { return []string{name} }

// hasSlash reports whether a program is named by a path, and so not looked up in PATH.
func hasSlash(name string) bool { return strings.Contains(name, "/") }
