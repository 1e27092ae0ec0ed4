//go:build !linux

package limits

import (
	"log/slog"
	"os"
	"syscall"
)

// Supported says what keeps each limit: nothing does here. A limit can be set on oneself only, and
// nothing of ours runs in the child before the program does.
func Supported() Support {
	none := Enforcement{Note: "this system has no way to limit another process"}
	return Support{Memory: none, Processes: none, Files: none, CPU: none}
}

// Enforcer keeps a process within its limits; here there is none.
type Enforcer struct{}

// Rest returns which of all limits are left for a sandbox to set: all.
func (*Enforcer) Rest(all Limits) Limits { return all }

// Attach does nothing here.
func (*Enforcer) Attach(*syscall.SysProcAttr) {}

// Set does nothing here.
func (*Enforcer) Set(int) bool { return true }

// Check does nothing here.
func (*Enforcer) Check(*os.Process) error { return nil }

// Abandon does nothing here.
func (*Enforcer) Abandon() {}

// Kill does nothing here.
func (*Enforcer) Kill() {}

// Exceeded is empty: no process is killed for a limit here.
func (*Enforcer) Exceeded(Ending) string { return "" }

// Cgroups hands out nothing here.
type Cgroups struct{}

// Enforcer is nil: no limit is kept here.
func (*Cgroups) Enforcer(Limits, bool, *slog.Logger) (*Enforcer, error) { return nil, nil }

// Drop does nothing here.
func (*Cgroups) Drop(*Enforcer, bool) error { return nil }

// Close does nothing here.
func (*Cgroups) Close() error { return nil }
