package drive

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A Sample is what a daemon uses at one moment.
type Sample struct {
	RSS        float64 `json:"rss_mb"`        // resident memory, pages of the program's file included
	Anonymous  float64 `json:"anonymous_mb"`  // resident memory that is its own
	Files      int     `json:"descriptors"`   // open descriptors
	Goroutines int     `json:"goroutines"`    //
	Heap       float64 `json:"heap_inuse_mb"` // spans of the Go heap in use, garbage included
	Processor  float64 `json:"cpu_seconds"`   // used since its start, without its children
}

// Sample returns what the daemon uses now.
func (d *Daemon) Sample(ctx context.Context) (Sample, error) {
	s, err := Memory(d.PID())
	if err != nil {
		return s, err
	}
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", d.PID()))
	if err != nil {
		return s, err
	}
	s.Files = len(open)
	counters, err := d.client.Metrics(ctx)
	if err != nil {
		return s, err
	}
	s.Goroutines = int(counters["go_goroutines"])
	s.Heap = counters["go_memstats_heap_inuse_bytes"] / 1e6
	s.Processor = counters["process_cpu_seconds_total"]
	return s, nil
}

// Memory returns the resident memory of a process in megabytes, in the fields RSS and Anonymous.
func Memory(pid int) (s Sample, err error) {
	status, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return s, err
	}
	defer status.Close()
	for lines := bufio.NewScanner(status); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		kilobytes, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
		if err != nil {
			continue // a line about something else
		}
		switch name {
		case "VmRSS":
			s.RSS = kilobytes * 1024 / 1e6
		case "RssAnon":
			s.Anonymous = kilobytes * 1024 / 1e6
		}
	}
	return s, nil
}

// ticks is the number of clock ticks a second in /proc/PID/stat. It is the same on every Linux.
const ticks = 100

// Processor returns how many seconds of processor time a process has used since its start, without
// its children.
func Processor(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(text, []byte(") ")) // behind the program's name
	fields := strings.Fields(string(rest))
	const user, system = 11, 12
	if len(fields) <= system {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	used, err1 := strconv.ParseFloat(fields[user], 64)
	kernel, err2 := strconv.ParseFloat(fields[system], 64)
	return (used + kernel) / ticks, errors.Join(err1, err2)
}

// Left lists the processes that have the home in their environment, their command line or their
// working directory.
func Left(home string) ([]string, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var left []string
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		if usesHome(pid, home) {
			left = append(left, fmt.Sprintf("%d %s", pid, commandLine(pid)))
		}
	}
	return left, nil
}

// usesHome reports whether a process uses a home. It returns false for a process that ends
// meanwhile, and for one that this user may not inspect.
func usesHome(pid int, home string) bool {
	dir := fmt.Sprintf("/proc/%d/", pid)
	for _, name := range []string{"environ", "cmdline"} {
		if text, err := os.ReadFile(dir + name); err == nil && bytes.Contains(text, []byte(home)) {
			return true
		}
	}
	cwd, err := os.Readlink(dir + "cwd")
	return err == nil && strings.HasPrefix(cwd, home)
}

func commandLine(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(strings.TrimRight(string(text), "\x00"), "\x00", " ")
}

// Children returns the descendants of a process, without the process itself.
func Children(pid int) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	parents := make(map[int][]int)
	for _, e := range entries {
		child, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if parent, ok := parentOf(child); ok {
			parents[parent] = append(parents[parent], child)
		}
	}
	var all []int
	for next := parents[pid]; len(next) > 0; next = next[1:] {
		all = append(all, next[0])
		next = append(next, parents[next[0]]...)
	}
	return all, nil
}

func parentOf(pid int) (int, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	_, rest, ok := bytes.Cut(text, []byte(") ")) // behind the program's name
	fields := bytes.Fields(rest)
	if !ok || len(fields) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return parent, err == nil
}

// DiskUse returns the disk space of all files below a directory, in megabytes.
func DiskUse(dir string) (float64, error) {
	var total int64
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // removed while we look
		}
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if os.IsNotExist(err) {
			return nil
		}
		if err == nil {
			total += diskSpace(info)
		}
		return err
	})
	return float64(total) / 1e6, err
}
