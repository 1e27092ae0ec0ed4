package machine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// Namespaces are the namespaces that a sandbox needs: of users, mounts, processes and the network.
var Namespaces = Feature{"namespaces", func() error {
	out, err := exec.Command("unshare", "--user", "--map-root-user", "--mount", "--net", "--pid", "--fork", "--mount-proc", "true").CombinedOutput()
	if err != nil {
		return fmt.Errorf("unshare: %w: %s", err, out)
	}
	return nil
}}

// Landlock restricts access to files. Sandboxes use it if there are no namespaces.
var Landlock = Feature{"Landlock", func() error {
	_, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return errno
	}
	return nil
}}

// Cgroups are cgroups of version 2 below which this process may create others.
var Cgroups = Feature{"cgroups", func() error {
	for _, mount := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		if _, err := os.Stat(mount + "/cgroup.procs"); err != nil {
			continue
		}
		dir, err := os.MkdirTemp(mount, "patchbay-machine-")
		if err != nil {
			return err
		}
		return os.Remove(dir)
	}
	return errors.New("they are not mounted")
}}
