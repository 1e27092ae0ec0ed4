package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// TestSharedMounts: mounts for a plugin do not appear on its host, even if the machine's mounts are
// shared, as most are.
func TestSharedMounts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root shares mounts")
	}
	needNamespaces(t)
	dir := outsideTmp(t)
	ownHome(t, dir)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	host := exec.Command(self, "-fake", "shares", dir)
	host.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if out, err := host.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// shares is a host whose mounts are shared. It prints the mounts that appeared after a plugin has
// run.
func shares(args []string) int {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		fmt.Println(err)
		return 1
	}
	before := readMounts()
	grant := capability.Capability{Kind: capability.WriteFS, Path: args[0]}
	o := Options{Grants: []capability.Capability{grant}, Guarded: []Place{{Path: args[0] + "/.local/state/patchbay", Hidden: true}, {Path: args[0] + "/.config/patchbay"}}, AnyProgram: true}
	g := proc.NewGroup(nil)
	defer g.Close()
	if result, err := g.Run(context.Background(), sh(o, ":"), proc.Call{}); err != nil || result.Exit.Code != 0 {
		fmt.Println(result, err)
		return 1
	}
	more := slices.DeleteFunc(readMounts(), func(m mounted) bool { return slices.Contains(before, m) })
	for _, m := range more {
		fmt.Println("mounted for the host:", m.at)
	}
	return len(more)
}
