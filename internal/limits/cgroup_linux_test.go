package limits

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/machine"
)

// The limits of a cgroup need the memory and pids controllers in version 2, but a machine may have
// them in the older version. So finding a cgroup and writing its limits is tested on a fake file
// system, and removing on real cgroups without controllers. Package proc tests what happens to
// processes in those.

func TestCgroupLimits(t *testing.T) {
	limits := Limits{Memory: 256 << 20, Processes: 20, Files: 32}
	open := func(t *testing.T, boxed bool, change map[string]string) *Enforcer {
		t.Helper()
		root := fakeTree(t)
		for file, text := range change {
			plant(t, root, file, text)
		}
		s := &Cgroups{tree: found(t, root)}
		s.once.Do(func() {})
		l := &Enforcer{limits: limits, rest: limits}
		if err := s.enclose(l, boxed, nil); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.dir.Close() })
		if want := filepath.Join(root, service, "patchbay-500-1"); l.cgroup.dir != want {
			t.Errorf("%s, want %s", l.cgroup.dir, want)
		}
		return l
	}
	t.Run("limits are written, and the rest is left to rlimits", func(t *testing.T) {
		l := open(t, false, nil)
		for file, want := range map[string]string{
			"memory.max": "268435456", "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "20",
		} {
			if got := content(t, l.cgroup.dir, file); got != want {
				t.Errorf("%s is %q", file, got)
			}
		}
		if l.rest != (Limits{Files: 32}) {
			t.Errorf("%+v", l.rest)
		}
	})
	t.Run("a box's own processes are added", func(t *testing.T) {
		if got := content(t, open(t, true, nil).cgroup.dir, "pids.max"); got != "44" {
			t.Errorf("%q", got)
		}
	})
	t.Run("a limit without a controller is left to rlimits too", func(t *testing.T) {
		l := open(t, false, map[string]string{service + "/cgroup.controllers": "pids\n"})
		if l.rest != (Limits{Memory: 256 << 20, Files: 32}) || exists(filepath.Join(l.cgroup.dir, "memory.max")) {
			t.Errorf("%+v", l.rest)
		}
	})
	t.Run("a limit that cannot be written is an error", func(t *testing.T) {
		c := &cgroup{filepath.Join(t.TempDir(), "none")}
		if err := c.limit(limits); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v", err)
		}
	})
}

func TestOutOfMemory(t *testing.T) {
	for name, test := range map[string]struct {
		events string
		want   bool
	}{
		"a kill by its own limit":               {"low 0\nhigh 0\nmax 12\noom 1\noom_kill 3\noom_group_kill 1\n", true},
		"a kill for another shortage":           {"max 0\noom 0\noom_kill 1\n", false},
		"the limit was reached, without a kill": {"max 40\noom 1\noom_kill 0\n", false},
		"no counters":                           {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			plant(t, dir, "memory.events", test.events)
			if got := (&cgroup{dir}).outOfMemory(); got != test.want {
				t.Errorf("%v", got)
			}
		})
	}
}

func TestHostOf(t *testing.T) {
	for name, want := range map[string]int{
		"patchbay-12-3": 12, "patchbay-host": 0, "patchbay-12": 0, "12-3": 0, "patchbay-x-3": 0, "patchbay-12-x": 0, "": 0,
	} {
		if got := hostOf(name); got != want {
			t.Errorf("%q: %d", name, got)
		}
	}
}

// bareCgroups returns real cgroups without controllers.
func bareCgroups(t *testing.T) (s *Cgroups, dir string) {
	t.Helper()
	s, dir, err := BareCgroups("patchbay-limits-test-" + strconv.Itoa(os.Getpid()))
	if err != nil {
		machine.Lacks(t, machine.Cgroups, err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Errorf("a cgroup is left: %v", err)
		}
	})
	return s, dir
}

func TestRemainingCgroupsAreRemoved(t *testing.T) {
	t.Run("of too many kept cgroups the oldest is killed", func(t *testing.T) {
		s, dir := bareCgroups(t)
		oldest := filepath.Join(dir, "oldest")
		s.left = append(s.left, &cgroup{oldest})
		for len(s.left) < maxLeft {
			s.left = append(s.left, &cgroup{filepath.Join(dir, "none")})
		}
		if err := os.Mkdir(oldest, 0o755); err != nil {
			t.Fatal(err)
		}
		err := s.keep(&cgroup{filepath.Join(dir, "newest")})
		if err != nil || exists(oldest) || len(s.left) != maxLeft {
			t.Errorf("%v, %d are left", err, len(s.left))
		}
		s.left = nil
	})
	t.Run("the cgroups of dead hosts are removed, those of running hosts are not", func(t *testing.T) {
		s, dir := bareCgroups(t)
		dead := 1 << 22 // larger than any pid (PID_MAX_LIMIT)
		for _, host := range []int{dead, os.Getpid()} {
			if err := os.MkdirAll(filepath.Join(dir, "patchbay-"+strconv.Itoa(host)+"-1/below"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		s.tree.sweep()
		left := below(t, dir)
		if len(left) != 1 || hostOf(left[0]) != os.Getpid() {
			t.Errorf("%v", left)
		}
		if err := (&cgroup{filepath.Join(dir, left[0])}).remove(); err != nil {
			t.Error(err)
		}
	})
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
