package proc

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The real limits of a cgroup need the memory and pids controllers in version 2, which a machine may keep in version
// 1. So what is found and what is written is tested on a fake file system, and what happens to processes in a real
// cgroup without controllers.

func TestCgroupLimits(t *testing.T) {
	limits := Limits{Memory: 256 << 20, Processes: 20, Files: 32}
	open := func(t *testing.T, boxed bool, change map[string]string) *leash {
		t.Helper()
		root := fakeTree(t)
		for file, text := range change {
			plant(t, root, file, text)
		}
		s := &cgroups{tree: found(t, root)}
		s.once.Do(func() {})
		l := &leash{limits: limits, rest: limits}
		if err := s.enclose(l, boxed, nil); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.dir.Close() })
		if want := filepath.Join(root, service, "patchbay-500-1"); l.cgroup.dir != want {
			t.Errorf("%s, want %s", l.cgroup.dir, want)
		}
		return l
	}
	t.Run("they are written, and the rest is left to rlimits", func(t *testing.T) {
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
	t.Run("what has no controller is left to rlimits too", func(t *testing.T) {
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
		"its own limit killed":                 {"low 0\nhigh 0\nmax 12\noom 1\noom_kill 3\noom_group_kill 1\n", true},
		"another's shortage killed":            {"max 0\noom 0\noom_kill 1\n", false},
		"the limit was reached, nobody killed": {"max 40\noom 1\noom_kill 0\n", false},
		"no such account":                      {"", false},
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

// cgroupGroup is a Group whose processes are started in real cgroups, without controllers.
func cgroupGroup(t *testing.T) (g *Group, dir string) {
	t.Helper()
	own, err := ownCgroup("/")
	if err != nil {
		t.Skip(err)
	}
	if err := canJoin(); err != nil {
		t.Skip(err)
	}
	dir = filepath.Join(own, "patchbay-test-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip("no cgroup to be divided here:", err)
	}
	t.Cleanup(func() { // after the Group's own
		if err := os.Remove(dir); err != nil {
			t.Errorf("a cgroup is left: %v", err)
		}
	})
	g = newGroup(t)
	g.cgroups.once.Do(func() {})
	g.cgroups.tree = &cgroupTree{root: "/", dir: dir, host: os.Getpid()}
	return g, dir
}

// enclosed makes a Spec one that is started in a cgroup.
func enclosed(s Spec) Spec {
	s.Limits.Memory = 1 << 40
	return s
}

func TestProcessInCgroup(t *testing.T) {
	t.Run("it is born there, and so is what it starts", func(t *testing.T) {
		g, dir := cgroupGroup(t)
		got := output(t, g, enclosed(sh("cat /proc/self/cgroup", Limits{})))
		if path, _ := unifiedPath(got); !strings.HasSuffix(dir+"/patchbay-"+strconv.Itoa(os.Getpid())+"-1", path) || len(path) < 2 {
			t.Errorf("%q", got)
		}
		if left := below(t, dir); len(left) != 0 {
			t.Errorf("left: %v", left)
		}
	})
	t.Run("what has left its process group and its mark is killed with it", func(t *testing.T) {
		g, dir := cgroupGroup(t)
		g.marks.prefix = 0 // as if all had lowered theirs
		stray := filepath.Join(t.TempDir(), "stray")
		p := started(t, g, enclosed(fake(t, "worst", token(t), stray)))
		pid, err := strconv.Atoi(content(t, stray))
		if err != nil || gone(pid) {
			t.Fatalf("stray %d, %v", pid, err)
		}
		p.Stop(t.Context(), Ladder{})
		if !gone(pid) || len(below(t, dir)) != 0 {
			t.Errorf("stray gone: %v, left: %v", gone(pid), below(t, dir))
		}
	})
	t.Run("what a call leaves behind lives on in it, and dies with the group", func(t *testing.T) {
		g, dir := cgroupGroup(t)
		tok := token(t)
		if got := output(t, g, enclosed(fake(t, "fork-and-exit", tok))); !strings.HasPrefix(got, "parent\n") {
			t.Fatalf("%q", got)
		}
		if len(bearing(tok)) != 1 || len(below(t, dir)) != 1 {
			t.Errorf("alive: %v, cgroups: %v", bearing(tok), below(t, dir))
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if len(bearing(tok)) != 0 || len(below(t, dir)) != 0 {
			t.Errorf("alive: %v, cgroups: %v", bearing(tok), below(t, dir))
		}
	})
	t.Run("what emptied later is removed with the next start", func(t *testing.T) {
		g, dir := cgroupGroup(t)
		tok := token(t)
		output(t, g, enclosed(fake(t, "fork-and-exit", tok)))
		for _, pid := range bearing(tok) {
			if err := unix.Kill(pid, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "the cgroup of what was left is removed", func() bool {
			output(t, g, enclosed(sh(":", Limits{})))
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
	t.Run("too many that are left are killed, the oldest first", func(t *testing.T) {
		g, dir := cgroupGroup(t)
		oldest := filepath.Join(dir, "oldest")
		g.cgroups.left = append(g.cgroups.left, &cgroup{oldest})
		for len(g.cgroups.left) < maxLeft {
			g.cgroups.left = append(g.cgroups.left, &cgroup{filepath.Join(dir, "none")})
		}
		if err := os.Mkdir(oldest, 0o755); err != nil {
			t.Fatal(err)
		}
		err := g.cgroups.keep(&cgroup{filepath.Join(dir, "newest")})
		if err != nil || exists(oldest) || len(g.cgroups.left) != maxLeft {
			t.Errorf("%v, %d are left", err, len(g.cgroups.left))
		}
		g.cgroups.left = nil
	})
	t.Run("those of dead hosts are removed, those of living ones not", func(t *testing.T) {
		g, dir := cgroupGroup(t)
		dead := 1 << 22 // the kernel numbers processes below (PID_MAX_LIMIT)
		for _, host := range []int{dead, os.Getpid()} {
			if err := os.MkdirAll(filepath.Join(dir, "patchbay-"+strconv.Itoa(host)+"-1/below"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		g.cgroups.tree.sweep()
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
