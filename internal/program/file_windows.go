package program

import (
	"errors"
	"os"
	"strings"
	"syscall"
)

// openNonblock is 0: there are no named pipes among files here.
const openNonblock = 0

// Busy reports whether err is the error of starting a file that is being written.
func Busy(err error) bool { return errors.Is(err, syscall.Errno(32)) } // ERROR_SHARING_VIOLATION

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// candidates adds the extensions of PATHEXT to a name.
func candidates(name string, env []string) []string {
	names := []string{name}
	for ext := range strings.SplitSeq(Getenv(env, "PATHEXT"), ";") {
		if ext != "" {
			names = append(names, name+ext)
		}
	}
	return names
}

func hasSlash(name string) bool { return strings.ContainsAny(name, `/\:`) }
