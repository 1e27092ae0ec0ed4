package proc

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/limits"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// bounded returns a group whose processes may use limit descriptors of the host.
func bounded(t *testing.T, limit int) *Group {
	g := newGroup(t)
	g.descriptors = limits.NewDescriptors(limit)
	return g
}

func TestAStartThatWouldTakeTooManyDescriptorsIsRefused(t *testing.T) {
	g := bounded(t, 3*perProcess+1)
	var running []*Process
	for range 3 {
		running = append(running, hanging(t, g))
	}
	for range 2 { // a refused start uses no descriptors
		_, err := g.Start(t.Context(), fake(t, "speaks-then-hangs"))
		start, ok := errors.AsType[*program.StartError](err)
		if !ok || !strings.Contains(err.Error(), "more than 16 file descriptors") || !strings.Contains(start.Fix, "ulimit -n ") {
			t.Fatalf("err = %v", err)
		}
	}
	if _, err := g.Run(t.Context(), fake(t, "echo"), Call{}); err == nil {
		t.Error("a call was not refused")
	}
	running[0].Stop(t.Context(), Ladder{})
	running = append(running[1:], hanging(t, g))
	for _, p := range running {
		p.Stop(t.Context(), Ladder{})
	}
	if n := g.descriptors.Used(); n != 0 {
		t.Errorf("%d descriptors are counted as in use, but none is", n)
	}
}

func TestDescriptorsAreGivenBack(t *testing.T) {
	g := bounded(t, 100*perProcess)
	for range 20 {
		if _, err := g.Run(t.Context(), fake(t, "echo"), Call{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := g.Start(t.Context(), Spec{Path: "/no/such/program"}); err == nil {
		t.Error("a process was started")
	}
	if _, err := g.Start(t.Context(), Spec{Path: t.TempDir()}); err == nil {
		t.Error("a process was started")
	}
	if n := g.descriptors.Used(); n != 0 {
		t.Errorf("%d descriptors are counted as in use, but none is", n)
	}
}

// TestAProcessCostsTheDescriptorsThatAreCounted: a process uses as many descriptors of the host as
// are counted for it.
func TestAProcessCostsTheDescriptorsThatAreCounted(t *testing.T) {
	g := newGroup(t)
	hanging(t, g) // the guardian's descriptors come with the first process
	awaitDescriptors(t)
	before := openDescriptors(t)
	const more = 5
	for range more {
		hanging(t, g)
	}
	got := 0
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if got = openDescriptors(t) - before; got == more*perProcess { // the watching goroutines may open theirs later
			return
		}
	}
	t.Errorf("%d processes cost %d descriptors, %d are counted", more, got, more*perProcess)
}

// awaitDescriptors waits until the first process and the guardian have opened all their
// descriptors: until the number stays the same for a while.
func awaitDescriptors(t *testing.T) {
	t.Helper()
	last, same := 0, 0
	for deadline := time.Now().Add(patience); same < 50; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the number of descriptors keeps changing")
		}
		if now := openDescriptors(t); now == last {
			same++
		} else {
			last, same = now, 0
		}
	}
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// hanging starts a process that waits to be ended.
func hanging(t *testing.T, g *Group) *Process {
	t.Helper()
	p, err := g.Start(t.Context(), fake(t, "hang"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}
