//go:build linux

package faults

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// A host must not leave behind processes, descriptors or much memory. goleak checks goroutines.

// survivors returns the running processes of the plugins below home: those whose pids were noted,
// and those with that home in their environment. A plugin that clears its environment notes its
// pid.
func survivors(t testing.TB, home string, noted []string) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		environ, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err != nil {
			continue // not a process, or one that has ended
		}
		marked := bytes.Contains(environ, []byte("HOME="+home+"\x00"))
		if (marked || slices.Contains(noted, e.Name())) && alive(e.Name()) {
			left = append(left, describe(e.Name()))
		}
	}
	return left
}

// alive returns false for a process that has ended and waits to be reaped, unless this process is
// its parent.
func alive(pid string) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return false
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // after the name: state, parent, …
	return fields[0] != "Z" || fields[1] == fmt.Sprint(os.Getpid())
}

func describe(pid string) string {
	cmdline, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline")) // if it has ended meanwhile, only the pid is shown
	return pid + " " + strings.ReplaceAll(string(cmdline), "\x00", " ")
}

// descriptors returns this process's open files.
func descriptors(t testing.TB) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var open []string
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil { // the directory itself is closed by now
			open = append(open, e.Name()+" → "+to)
		}
	}
	return open
}

// wantDescriptors checks that no more descriptors are open than before. It waits, because the
// garbage collector may close a pipe a moment after Close has returned.
func wantDescriptors(t *testing.T, before []string) {
	t.Helper()
	var now []string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) { // between polls
		if now = descriptors(t); len(now) <= len(before) {
			return
		}
	}
	t.Errorf("%d descriptors were open, and now %d:\n%s", len(before), len(now), strings.Join(now, "\n"))
}

// liveHeap returns the memory in use after a collection.
func liveHeap() uint64 {
	runtime.GC()
	runtime.GC() // frees what finalizers released
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A gauge watches the heap while something runs.
type gauge struct {
	before uint64
	peak   chan uint64 // run sends the highest value, and ends
}

func watchHeap() *gauge {
	g := &gauge{before: liveHeap(), peak: make(chan uint64)}
	go g.run()
	return g
}

func (g *gauge) run() {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	var m runtime.MemStats
	var peak uint64
	for {
		select {
		case <-tick.C:
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
		case g.peak <- peak:
			return
		}
	}
}

const (
	// mostLeft is how much more memory may be in use after a flood: buffers that are kept, and the
	// log of the test.
	mostLeft = 16 << 20
	// mostPeak is how much more memory may be in use, or wait to be collected, during a flood. The
	// largest message of any dialect has 16 MiB, and a buffer that grows to it is copied on the
	// way. A flood has 100 MiB.
	mostPeak = 72 << 20
)

// end compares the heap with its size before.
func (g *gauge) end(t *testing.T) {
	t.Helper()
	peak := <-g.peak
	if now := liveHeap(); now > g.before+mostLeft {
		t.Errorf("the heap grew from %d to %d MiB", g.before>>20, now>>20)
	}
	if peak > g.before+mostPeak {
		t.Errorf("the heap of %d MiB grew to %d MiB during the fault", g.before>>20, peak>>20)
	}
}
