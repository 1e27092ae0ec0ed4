//go:build !linux

package proc

import (
	"os"
	"syscall"
)

// LimitSupport says what keeps each limit: nothing does here. A limit can be set on oneself only, and nothing of ours
// runs in the child before the program does.
func LimitSupport() Support {
	none := Enforcement{Note: "this system has no way to limit another process"}
	return Support{Memory: none, Processes: none, Files: none, CPU: none}
}

// leash keeps a process within its limits; here there is none.
type leash struct{}

func (*Group) leashFor(Spec) (*leash, error)   { return nil, nil }
func (*leash) inner(l Limits) Limits           { return l }
func (*leash) attach(*syscall.SysProcAttr)     {}
func (*leash) set(int) bool                    { return true }
func (*leash) holds(*os.Process, string) error { return nil }
func (*leash) abandon()                        {}
func (*leash) kill()                           {}
func (*leash) exceeded(ending) string          { return "" }

type cgroups struct{}

func (*cgroups) drop(*leash, bool) error { return nil }
func (*cgroups) close() error            { return nil }
