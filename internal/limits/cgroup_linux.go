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

// removeWait bounds the wait for a cgroup to be empty once all in it was killed: the process that
// it was made for is gone by then.
const removeWait = time.Second

// cgroup is one sub-group of the host's cgroup (version 2), around one process and all that it
// starts. What is in it cannot leave it by forking, by setsid or by changing its mark. It can by
// moving itself, where it may write to the cgroup file system: any process of the host's user may,
// unless a sandbox hides those files.
type cgroup struct {
	dir string
}

// limit writes the limits that a cgroup can keep.
func (c *cgroup) limit(l Limits) error {
	if l.Memory > 0 {
		memory := strconv.FormatInt(l.Memory, 10)
		err := errors.Join(
			c.write("memory.max", memory),
			c.write("memory.oom.group", "1"), // half a plugin is worse than none
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

// optional passes over the lack of a file: without swap accounting there is no memory.swap.max. The
// kernel answers an attempt to create one with EACCES; in a cgroup that we made ourselves no other
// file is closed to us.
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

// outOfMemory reports whether the limit of this very cgroup was reached and something killed for
// it. The kernel counts what any shortage killed in oom_kill, but only those of this cgroup's own
// limit in oom.
func (c *cgroup) outOfMemory() bool {
	events, err := os.ReadFile(filepath.Join(c.dir, "memory.events"))
	if err != nil {
		return false // no memory controller: no limit was set either
	}
	return counter(string(events), "oom") > 0 && counter(string(events), "oom_kill") > 0
}

// counter reads one value of a file of lines "name value"; 0 where it is not there.
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

// remove kills what is left in the cgroup and removes it.
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
		time.Sleep(pause) // SIGKILL is sent, but it takes the kernel a moment to take a process apart
	}
}

// removeEmpty removes the cgroup and those that were made below it, unless something lives in it:
// then the error is EBUSY.
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
