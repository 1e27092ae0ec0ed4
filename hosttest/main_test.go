//go:build linux

package hosttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/machine"
)

const (
	// whereVar names the directory where npm installed the agents.
	whereVar = "PATCHBAY_HOSTS"
	// insideVar is set in the process that runs in the network namespace.
	insideVar = "PATCHBAY_HOSTS_INSIDE"
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(whereVar) == "":
		os.Exit(m.Run()) // each test says why it is skipped
	case os.Getenv(insideVar) == "":
		os.Exit(inside())
	}
	if err := machine.LoopbackUp(); err != nil {
		fmt.Fprintln(os.Stderr, "hosttest:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// inside runs the tests again in a network namespace, so that no agent can reach anything but the
// scripted model. An ordinary user first becomes root in a user namespace, which is needed to make
// the other one.
func inside() int {
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "hosttest:", err)
		return 1
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), insideVar+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "hosttest: in a network namespace:", err)
		return 1
	}
	return 0
}

// installed returns the directory where npm installed the agents. Without it the test is skipped.
func installed(t testing.TB) string {
	t.Helper()
	dir := os.Getenv(whereVar)
	if dir == "" {
		t.Skipf("%s is not set: it names the directory where npm installed the coding agents. make test-hosts installs them and runs this test", whereVar)
	}
	if !filepath.IsAbs(dir) {
		t.Fatalf("%s: %q must be absolute, since each package is tested in its own folder", whereVar, dir)
	}
	return filepath.Join(dir, "node_modules")
}
