package sandbox

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/limits"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// watched is a box that records the Descriptors that it is given.
type watched struct {
	*Box
	descriptors *limits.Descriptors
}

func (w *watched) Pack(l proc.Launch) (*proc.Packed, error) {
	w.descriptors = l.Descriptors
	return w.Box.Pack(l)
}

// TestAConfinedProcessCostsTheDescriptorsThatAreCounted: a confined process uses as many
// descriptors of the host as are counted for it.
func TestAConfinedProcessCostsTheDescriptorsThatAreCounted(t *testing.T) {
	needNamespaces(t)
	g := newGroup(t)
	o := Options{Grants: []capability.Capability{{Kind: capability.NetHost, Host: "api.example.test", AnyPort: true}}}
	s := sh(o, "echo up; read -r end")
	w := &watched{Box: s.Box.(*Box)}
	s.Box = w
	start := func() *proc.Process {
		t.Helper()
		p, err := g.Start(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		line := make([]byte, 3)
		if _, err := p.Stdout().Read(line); err != nil || string(line) != "up\n" {
			t.Fatalf("it said %q, %v: %s", line, err, p.Stderr())
		}
		return p
	}
	processes := []*proc.Process{start()} // the guardian's descriptors come with the first process
	steady(t)
	open, used := descriptors(t), w.descriptors.Used()
	for range 3 {
		processes = append(processes, start())
	}
	eventually.True(t, "as many descriptors are open as are counted", func() bool { return descriptors(t)-open == w.descriptors.Used()-used })
	if each := (w.descriptors.Used() - used) / 3; each < 8 { // pipes, the process twice, its control socket, DNS and connections
		t.Errorf("%d descriptors are counted for each process", each)
	}
	for _, p := range processes {
		p.Stop(t.Context(), proc.Ladder{})
	}
	if n := w.descriptors.Used(); n != 0 {
		t.Errorf("%d descriptors are counted as in use, but none is", n)
	}
}

// steady waits until the number of descriptors stays the same for a while.
func steady(t *testing.T) {
	t.Helper()
	last, same := 0, 0
	eventually.True(t, "the number of descriptors stays the same", func() bool {
		if now := descriptors(t); now != last {
			last, same = now, 0
		}
		same++
		return same > 30
	})
}
