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

// Busy reports the error of starting a file that someone has open for writing. It passes: when one
// goroutine writes a plugin's file while another forks, the fork holds the file open until its
// exec.
func Busy(err error) bool { return errors.Is(err, syscall.ETXTBSY) }

// executable reports whether the file is one that we may run.
func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && unix.Access(path, unix.X_OK) == nil
}

// candidates are the file names under which a program may lie in a directory of PATH.
func candidates(name string, _ []string) []string { return []string{name} }

// hasSlash reports whether a program is named by its path and not looked up in PATH.
func hasSlash(name string) bool { return strings.Contains(name, "/") }
