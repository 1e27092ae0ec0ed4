package program

import (
	"errors"
	"os"
	"strings"
	"syscall"
)

// openNonblock: there are no named pipes among files here.
const openNonblock = 0

// Busy reports the error of starting a file that somebody writes.
func Busy(err error) bool { return errors.Is(err, syscall.Errno(32)) } // ERROR_SHARING_VIOLATION

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// candidates adds the extensions of PATHEXT to a name that has none of them.
func candidates(name string, env []string) []string {
	names := []string{name}
	for ext := range strings.SplitSeq(lookup(env, "PATHEXT"), ";") {
		if ext != "" {
			names = append(names, name+ext)
		}
	}
	return names
}

func hasSlash(name string) bool { return strings.ContainsAny(name, `/\:`) }
