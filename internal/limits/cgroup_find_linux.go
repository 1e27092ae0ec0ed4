package limits

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// hostLeaf is the cgroup into which a host moves itself if its own must be empty to be divided.
const hostLeaf = "patchbay-host"

// A cgroupTree is the cgroup that a host may divide among its processes. root is the root of the
// file system: "/", or a directory in tests.
//
//	findCgroup ─► ownCgroup ─► usable     reads only
//	divide ─► move ─► cgroup.subtree_control
type cgroupTree struct {
	root   string
	dir    string // the cgroup to be divided, under root
	host   int    // the host's pid
	memory bool   // it has the controller for Limits.Memory
	pids   bool   // it has the controller for Limits.Processes
}

// findCgroup returns the cgroup of the host, or why it cannot be used. It changes nothing.
func findCgroup(root string, host int) (*cgroupTree, error) {
	dir, err := ownCgroup(root)
	if err != nil {
		return nil, err
	}
	if path.Base(dir) == hostLeaf { // this program moved itself there earlier, or the host that started it did
		dir = path.Dir(dir)
	}
	t := &cgroupTree{root: root, dir: filepath.Join(root, dir), host: host}
	offered := t.controllers("cgroup.controllers")
	t.memory, t.pids = slices.Contains(offered, "memory"), slices.Contains(offered, "pids")
	if err := t.usable(); err != nil {
		return nil, err
	}
	return t, nil
}

// ownCgroup returns the directory of this process's cgroup.
func ownCgroup(root string) (string, error) {
	groups, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return "", err
	}
	mounts, err := os.ReadFile(filepath.Join(root, "proc/self/mountinfo"))
	if err != nil {
		return "", err
	}
	own, found := unifiedPath(string(groups))
	if !found {
		return "", errors.New("the kernel has no cgroups of version 2")
	}
	mounted, point, found := unifiedMount(string(mounts))
	if !found {
		return "", errors.New("cgroups of version 2 are not mounted")
	}
	below, inside := strings.CutPrefix(own, strings.TrimSuffix(mounted, "/"))
	if !inside || !strings.HasPrefix(below, "/") && below != "" || slices.Contains(strings.Split(own, "/"), "..") {
		return "", fmt.Errorf("this program's cgroup %q is not below the mounted one %q", own, mounted)
	}
	return path.Join(point, below), nil
}

// unifiedPath finds the line "0::PATH" in /proc/self/cgroup.
func unifiedPath(groups string) (string, bool) {
	for line := range strings.Lines(groups) {
		if own, found := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); found {
			return own, true
		}
	}
	return "", false
}

// unifiedMount finds in /proc/self/mountinfo where cgroups of version 2 are mounted, and which
// cgroup is mounted there:
//
//	41 31 0:38 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw
func unifiedMount(mounts string) (mounted, point string, found bool) {
	for line := range strings.Lines(mounts) {
		left, right, _ := strings.Cut(line, " - ")
		fields := strings.Fields(left)
		if len(fields) >= 5 && strings.HasPrefix(right, "cgroup2 ") {
			return unescape(fields[3]), unescape(fields[4]), true
		}
	}
	return "", "", false
}

// unescape undoes the kernel's escapes for the four characters that would break a line of
// mountinfo.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// usable says why the cgroup cannot be divided, or returns nil if it can.
func (t *cgroupTree) usable() error {
	if !t.memory && !t.pids {
		return errors.New("this program's cgroup of version 2 has neither the memory nor the pids controller")
	}
	for _, file := range []string{"", "cgroup.procs", "cgroup.subtree_control"} {
		if err := unix.Access(filepath.Join(t.dir, file), unix.W_OK); err != nil {
			return fmt.Errorf("this program may not divide its cgroup: %w", err)
		}
	}
	if err := canJoin(); err != nil {
		return fmt.Errorf("processes cannot be started in a cgroup: %w", err)
	}
	if t.divided() || t.isRoot() || t.delegated() {
		return nil
	}
	return errors.New("this program's cgroup is not delegated to it (systemd: Delegate=yes)")
}

// controllers returns the controllers that a file of the cgroup names; none if it cannot be read.
func (t *cgroupTree) controllers(file string) []string {
	text, _ := os.ReadFile(filepath.Join(t.dir, file))
	return strings.Fields(string(text))
}

// canJoin returns why no process can be started in a cgroup, or nil. That needs clone3: the kernel
// must have it, and no filter may forbid it. Without arguments clone3 only returns an error.
// canJoin also requires Linux 5.14, in which a cgroup can be killed as a whole.
func canJoin() error {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return err
	}
	if release := unix.ByteSliceToString(name.Release[:]); !atLeast(release, 5, 14) {
		return fmt.Errorf("the kernel, %s, is older than 5.14", release)
	}
	_, _, errno := unix.RawSyscall(unix.SYS_CLONE3, 0, 0, 0)
	if errno == unix.EINVAL {
		return nil
	}
	return errno
}

// atLeast compares a kernel's release, such as "6.12.3-arch1", with a version.
func atLeast(release string, major, minor int) bool {
	var x, y int
	if _, err := fmt.Sscanf(release, "%d.%d", &x, &y); err != nil {
		return false
	}
	return x > major || x == major && y >= minor
}

// divided reports whether the controllers are already passed down.
func (t *cgroupTree) divided() bool {
	down := t.controllers("cgroup.subtree_control")
	return (!t.memory || slices.Contains(down, "memory")) && (!t.pids || slices.Contains(down, "pids"))
}

// handDown returns the text for cgroup.subtree_control that passes the controllers down.
func (t *cgroupTree) handDown() string {
	var enable []string
	if t.memory {
		enable = append(enable, "+memory")
	}
	if t.pids {
		enable = append(enable, "+pids")
	}
	return strings.Join(enable, " ")
}

// isRoot reports whether this is the machine's root cgroup, the only one without a type.
func (t *cgroupTree) isRoot() bool {
	_, err := os.Stat(filepath.Join(t.dir, "cgroup.type"))
	return errors.Is(err, fs.ErrNotExist)
}

// delegated reports whether systemd has marked the cgroup as one that its owner may divide. A
// cgroup without the mark belongs to its creator and must not be changed, not even by root.
func (t *cgroupTree) delegated() bool {
	for _, mark := range []string{"user.delegate", "trusted.delegate"} {
		value := make([]byte, 8)
		n, err := unix.Getxattr(t.dir, mark, value)
		if err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return false
}

// divide passes the controllers down to the cgroups below. Except for the root, the kernel allows
// that only in a cgroup without processes of its own ("no internal processes"). So the host first
// moves itself and its children into a leaf. If other processes are in the cgroup too, it moves
// back.
func (t *cgroupTree) divide() error {
	if t.divided() {
		return nil
	}
	leaf := filepath.Join(t.dir, hostLeaf)
	if !t.isRoot() {
		if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := t.move(t.dir, leaf); err != nil {
			return errors.Join(err, t.moveBack(leaf))
		}
	}
	err := os.WriteFile(filepath.Join(t.dir, "cgroup.subtree_control"), []byte(t.handDown()), 0o600)
	if err == nil || t.isRoot() {
		return err
	}
	if errors.Is(err, unix.EBUSY) {
		err = errors.New("other processes are in this program's cgroup")
	}
	return errors.Join(err, t.moveBack(leaf))
}

func (t *cgroupTree) moveBack(leaf string) error {
	err := t.move(leaf, t.dir)
	_ = os.Remove(leaf) // another process may be in it
	return err
}

// move moves the host and its descendants from one cgroup to another.
func (t *cgroupTree) move(from, to string) error {
	procs, err := os.ReadFile(filepath.Join(from, "cgroup.procs"))
	if err != nil {
		return err
	}
	for _, field := range strings.Fields(string(procs)) {
		pid, err := strconv.Atoi(field)
		if err != nil || !t.ours(pid) {
			continue
		}
		err = os.WriteFile(filepath.Join(to, "cgroup.procs"), []byte(field), 0o600)
		if err != nil && !errors.Is(err, unix.ESRCH) { // it may have ended
			return err
		}
	}
	return nil
}

// maxGenerations bounds the search from a process up to the host.
const maxGenerations = 64

// ours reports whether a process is the host or was started by it.
func (t *cgroupTree) ours(pid int) bool {
	for range maxGenerations {
		if pid == t.host {
			return true
		}
		if pid = t.parent(pid); pid <= 1 {
			return false
		}
	}
	return false
}

// parent returns the parent of a process, or 0 if there is none. The file has the form "PID (NAME)
// STATE PPID …", and NAME may contain anything.
func (t *cgroupTree) parent(pid int) int {
	stat, err := os.ReadFile(filepath.Join(t.root, "proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1]) // the kernel writes a number
	return parent
}
