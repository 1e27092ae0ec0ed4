package proc

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/patchbay-dev/patchbay/internal/limits"
	"github.com/patchbay-dev/patchbay/internal/plugtest/children"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
	"github.com/patchbay-dev/patchbay/internal/plugtest/machine"
)

// cgroupGroup returns a Group whose processes are started in real cgroups, without controllers.
func cgroupGroup(t *testing.T) (g *Group, dir string) {
	t.Helper()
	cgroups, dir, err := limits.BareCgroups("patchbay-test-" + strconv.Itoa(os.Getpid()))
	if err != nil {
		machine.Lacks(t, machine.Cgroups, err)
	}
	t.Cleanup(func() { // after the Group's own cleanup
		if err := os.Remove(dir); err != nil {
			t.Errorf("a cgroup is left: %v", err)
		}
	})
	g = newGroup(t)
	g.cgroups = cgroups
	return g, dir
}

// enclosed returns a Spec whose process is started in a cgroup.
func enclosed(s Spec) Spec {
	s.Limits.Memory = 1 << 40
	return s
}

func TestProcessInCgroup(t *testing.T) {
	t.Run("the process and its children start in the cgroup", func(t *testing.T) {
		g, dir := cgroupGroup(t)
		got := output(t, g, enclosed(sh("cat /proc/self/cgroup", limits.Limits{})))
		if path := unifiedPath(got); !strings.HasSuffix(dir+"/patchbay-"+strconv.Itoa(os.Getpid())+"-1", path) || len(path) < 2 {
			t.Errorf("%q", got)
		}
		if left := below(t, dir); len(left) != 0 {
			t.Errorf("left: %v", left)
		}
	})
	t.Run("a process without mark that has left the process group is killed too", func(t *testing.T) {
		g, dir := cgroupGroup(t)
		g.marks.prefix = 0 // as if all processes had lowered their marks
		stray := filepath.Join(t.TempDir(), "stray")
		p := started(t, g, enclosed(fake(t, "worst", children.Token(t), stray)))
		pid, err := strconv.Atoi(content(t, stray))
		if err != nil || gone(pid) {
			t.Fatalf("stray %d, %v", pid, err)
		}
		p.Stop(t.Context(), Ladder{})
		if !gone(pid) || len(below(t, dir)) != 0 {
			t.Errorf("stray gone: %v, left: %v", gone(pid), below(t, dir))
		}
	})
	t.Run("a process that a call leaves behind stays in the cgroup, and is killed with the group", func(t *testing.T) {
		g, dir := cgroupGroup(t)
		tok := children.Token(t)
		if got := output(t, g, enclosed(fake(t, "fork-and-exit", tok))); !strings.HasPrefix(got, "parent\n") {
			t.Fatalf("%q", got)
		}
		if len(children.Bearing(tok)) != 1 || len(below(t, dir)) != 1 {
			t.Errorf("alive: %v, cgroups: %v", children.Bearing(tok), below(t, dir))
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if len(children.Bearing(tok)) != 0 || len(below(t, dir)) != 0 {
			t.Errorf("alive: %v, cgroups: %v", children.Bearing(tok), below(t, dir))
		}
	})
	t.Run("a cgroup that becomes empty later is removed at the next start", func(t *testing.T) {
		g, dir := cgroupGroup(t)
		tok := children.Token(t)
		output(t, g, enclosed(fake(t, "fork-and-exit", tok)))
		for _, pid := range children.Bearing(tok) {
			if err := unix.Kill(pid, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		eventually.True(t, "the cgroup of the remaining process is removed", func() bool {
			output(t, g, enclosed(sh(":", limits.Limits{})))
			return len(below(t, dir)) == 0
		})
	})
	t.Run("a program that does not start leaves no cgroup", func(t *testing.T) {
		g, dir := cgroupGroup(t)
		path := filepath.Join(t.TempDir(), "plug")
		writeFile(t, path, "\x7fELF", 0o755)
		if _, err := g.Start(t.Context(), enclosed(Spec{Path: path})); err == nil || len(below(t, dir)) != 0 {
			t.Errorf("%v, left: %v", err, below(t, dir))
		}
	})
}

// unifiedPath returns the cgroup of version 2 in a /proc/PID/cgroup.
func unifiedPath(groups string) string {
	_, path, _ := strings.Cut("\n"+groups, "\n0::")
	return strings.TrimSuffix(path, "\n")
}

// content returns the content of a file.
func content(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// below lists the cgroups in a cgroup.
func below(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names
}
