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

// What a host may leave behind: no process, no descriptor, no memory. Goroutines are goleak's.

// survivors are the processes of the plugins below home that live: those whose pids they noted, and
// those that have that home in their environment. Whoever clears its environment notes its pid.
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
			continue // no process, or none any more
		}
		marked := bytes.Contains(environ, []byte("HOME="+home+"\x00"))
		if (marked || slices.Contains(noted, e.Name())) && alive(e.Name()) {
			left = append(left, describe(e.Name()))
		}
	}
	return left
}

// alive is false for one that has ended and only waits for its parent to notice, unless that is us.
func alive(pid string) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return false
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // behind the name: state, parent, …
	return fields[0] != "Z" || fields[1] == fmt.Sprint(os.Getpid())
}

func describe(pid string) string {
	cmdline, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline")) // gone meanwhile: the pid must do
	return pid + " " + strings.ReplaceAll(string(cmdline), "\x00", " ")
}

// descriptors are this process's open files, by what they are.
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

// wantDescriptors wants no more of them than before. A pipe may be closed a moment after Close has
// returned: by the collector, where a goroutine that owned it has just ended.
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

// liveHeap is what is in use after a collection.
func liveHeap() uint64 {
	runtime.GC()
	runtime.GC() // what finalizers let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A gauge watches the heap while something goes on.
type gauge struct {
	before uint64
	peak   chan uint64 // the highest there was, for whoever asks first
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
	// mostLeft is how much more may be in use when a flood is over: buffers that are kept, and what
	// the log of the test has.
	mostLeft = 16 << 20
	// mostPeak is how much more may be in use, or wait to be collected, while it lasts. The largest
	// message of any dialect has 16 MiB, and a buffer that grows to it is copied on the way; a
	// flood has 100 MiB.
	mostPeak = 72 << 20
)

// end holds the heap against what it was.
func (g *gauge) end(t *testing.T) {
	t.Helper()
	peak := <-g.peak
	if now := liveHeap(); now > g.before+mostLeft {
		t.Errorf("the heap grew from %d to %d MiB", g.before>>20, now>>20)
	}
	if peak > g.before+mostPeak {
		t.Errorf("the heap of %d MiB grew to %d MiB meanwhile", g.before>>20, peak>>20)
	}
}
