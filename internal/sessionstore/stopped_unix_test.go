//go:build unix

package sessionstore

import (
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/engine/enginetest/embedded"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// TestStopped stops a process in the middle of a turn until its lease has expired, as a debugger or
// a full swap does. When it continues, it must not write.
func TestStopped(t *testing.T) {
	dir := t.TempDir()
	s := shortLived(embedded.Engine(t, dir))
	id := create(t, s, session.Session{}).ID
	waiter := startFake(t, "wait", dir, id)
	if !waiter.says.Scan() || waiter.says.Text() != "begun" {
		t.Fatalf("got %q", waiter.says.Text())
	}
	if err := waiter.process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	turn := beginWhenFree(t, s, id)
	appendTo(t, turn, user("mine"))
	if err := waiter.process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(waiter.hears, "late\n"); err != nil {
		t.Fatal(err)
	}
	if !waiter.says.Scan() || !strings.HasPrefix(waiter.says.Text(), "true ") { // the turn was lost
		t.Errorf("got %q", waiter.says.Text())
	}
	end(t, turn, session.Done)
	if got := outline(t, s, id); got != "began interrupted began user done" {
		t.Errorf("got %s", got)
	}
}
