package proc

import (
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/children"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
)

// TestLeft: with Linger, Left reports a process that was left running. It is killed nevertheless.
func TestLeft(t *testing.T) {
	g := newGroup(t)
	run := func(t *testing.T, s Spec) *Process {
		t.Helper()
		s.Linger = 50 * leftoverPoll
		p, err := g.Start(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		<-p.Done()
		p.Stop(t.Context(), Ladder{})
		return p
	}
	mark := children.Token(t)
	if p := run(t, fake(t, "fork-and-exit", mark)); !p.Left() {
		t.Errorf("nothing was left after %v", p.Exit())
	}
	eventually.True(t, "the remaining process has ended", func() bool { return len(children.Bearing(mark)) == 0 })
	if p := run(t, fake(t, "exit", "0")); p.Left() {
		t.Error("something was left")
	}
}

// TestTerminate: SIGTERM comes first, with stdin open, then SIGKILL.
func TestTerminate(t *testing.T) {
	g := newGroup(t)
	for name, want := range map[string]string{"hang": "SIGTERM", "ignores-sigterm": "SIGKILL"} {
		p := started(t, g, fake(t, name))
		grace := patience
		if want == "SIGKILL" {
			grace = leftoverPoll
		}
		p.Terminate(grace)
		<-p.Done()
		if exit := p.Exit(); exit.Signal != want {
			t.Errorf("%s: %v, want %s", name, exit, want)
		}
		p.Stop(t.Context(), Ladder{})
	}
}
