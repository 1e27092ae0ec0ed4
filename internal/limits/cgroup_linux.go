package limits

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// removeWait bounds the wait for a cgroup to become empty after all its processes were killed. The
// process that it was created for has ended by then.
const removeWait = time.Second

// A cgroup is one sub-group of the host's cgroup (version 2), with one process and all processes
// that it starts. They cannot leave it by forking, by setsid or by changing the mark by which the
// guardian finds processes (package guard). They can move themselves out if they may write to the
// cgroup file system, as any process of the host's user may, unless a sandbox hides these files.
type cgroup struct {
	dir string
}

// limit writes the limits that a cgroup can enforce.
func (c *cgroup) limit(l Limits) error {
	if l.Memory > 0 {
		memory := strconv.FormatInt(l.Memory, 10)
		err := errors.Join(
			c.write("memory.max", memory),
			c.write("memory.oom.group", "1"), // killing only a part of a plugin is worse than killing all of it
			optional(c.write("memory.swap.max", "0")),
		)
		if err != nil {
			return err
		}
	}
	if l.Processes > 0 {
		return c.write("pids.max", strconv.Itoa(l.Processes))
	}
	return nil
}

// optional ignores a missing file: without swap accounting there is no memory.swap.max. Writing to
// a missing file would create it, which the kernel refuses with EACCES. In a cgroup that the host
// has created itself, no existing file gives that error.
func optional(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (c *cgroup) write(file, value string) error {
	return os.WriteFile(filepath.Join(c.dir, file), []byte(value), 0o600)
}

// kill kills everything in the cgroup and in those below it (Linux 5.14).
func (c *cgroup) kill() error { return c.write("cgroup.kill", "1") }

// outOfMemory reports whether the limit of this cgroup was reached and a process was killed for it.
// In memory.events, oom_kill counts the processes that were killed for any shortage of memory, also
// of the whole machine. oom counts only how often this cgroup reached its own limit.
func (c *cgroup) outOfMemory() bool {
	events, err := os.ReadFile(filepath.Join(c.dir, "memory.events"))
	if err != nil {
		return false // without a memory controller no limit was set either
	}
	return counter(string(events), "oom") > 0 && counter(string(events), "oom_kill") > 0
}

// counter returns one value of a file of lines "name value"; 0 if it is missing.
func counter(file, name string) int {
	for line := range strings.Lines(file) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if key == name {
			n, _ := strconv.Atoi(value) // the kernel writes a number
			return n
		}
	}
	return 0
}

// remove kills the processes left in the cgroup and removes it.
func (c *cgroup) remove() error {
	if err := c.kill(); err != nil {
		return err
	}
	pause := time.Millisecond
	for end := time.Now().Add(removeWait); ; pause *= 2 {
		err := c.removeEmpty()
		if !errors.Is(err, syscall.EBUSY) || time.Now().After(end) {
			return err
		}
		time.Sleep(pause) // the kernel takes a moment to end a process after SIGKILL
	}
}

// removeEmpty removes the cgroup and those that were created below it. If a process is still in it,
// the error is EBUSY.
func (c *cgroup) removeEmpty() error {
	var dirs []string
	err := filepath.WalkDir(c.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		dirs = append(dirs, path)
		return nil
	})
	if err != nil {
		return fmt.Errorf("look into cgroup: %w", err)
	}
	for _, dir := range slices.Backward(dirs) { // the deepest first
		if err := syscall.Rmdir(dir); err != nil {
			return fmt.Errorf("remove cgroup: %w", &fs.PathError{Op: "rmdir", Path: dir, Err: err})
		}
	}
	return nil
}
