//go:build !linux

package limits

import (
	"log/slog"
	"os"
	"syscall"
)

// Supported reports that nothing is enforced on this system: a process can set limits only on
// itself, and no code of the host runs in the child before the program does.
func Supported() Support {
	none := Enforcement{Note: "this system has no way to limit another process"}
	return Support{Memory: none, Processes: none, Files: none, CPU: none}
}

// Enforcer enforces nothing on this system.
type Enforcer struct{}

// Rest returns the limits that a sandbox must set: all of them.
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

// Exceeded returns "": no process is killed for a limit here.
func (*Enforcer) Exceeded(Ending) string { return "" }

// Cgroups is empty on this system.
type Cgroups struct{}

// Enforcer returns nil: no limit is enforced here.
func (*Cgroups) Enforcer(Limits, bool, *slog.Logger) (*Enforcer, error) { return nil, nil }

// Drop does nothing here.
func (*Cgroups) Drop(*Enforcer, bool) error { return nil }

// Close does nothing here.
func (*Cgroups) Close() error { return nil }
