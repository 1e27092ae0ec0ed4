package daemon

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
)

// listenerOn names the process that listens on a TCP port: by its program if this user may look at
// it, otherwise by its user. It returns "" if neither is known.
func listenerOn(port string) string {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return ""
	}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line) // number, local address, remote address, state, queues, timer, retransmits, user, timeout, inode
			if len(f) < 10 || f[3] != "0A" || !strings.HasSuffix(f[1], fmt.Sprintf(":%04X", n)) {
				continue
			}
			if name := processWith("socket:[" + f[9] + "]"); name != "" {
				return name
			}
			return "a process of " + userNamed(f[7])
		}
	}
	return ""
}

// processWith returns the process that has a socket open, or "".
func processWith(socket string) string {
	files, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return ""
	}
	for _, file := range files {
		if target, err := os.Readlink(file); err != nil || target != socket {
			continue // the process has ended, or belongs to another user
		}
		pid := strings.Split(file, "/")[2]
		name, err := os.ReadFile("/proc/" + pid + "/comm")
		if err != nil {
			return "process " + pid
		}
		return fmt.Sprintf("process %s (%s)", pid, excerpt.Head(strings.TrimSpace(string(name)), 64))
	}
	return ""
}

func userNamed(id string) string {
	if u, err := user.LookupId(id); err == nil {
		return "user " + u.Username
	}
	return "user " + id
}
