package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/patchbay-dev/patchbay/internal/capability"
)

// BuildError says why a sandbox could not be built.
type BuildError struct {
	Stage  string // the step that failed: "mount /srv/notes"
	Reason string
	Errno  syscall.Errno // 0: none
}

func (e *BuildError) Error() string {
	if e.Stage == "" {
		return e.Reason
	}
	return fmt.Sprintf("%s: %s", e.Stage, e.Reason)
}

// Status says how far a capability is enforced.
type Status string

// The statuses.
const (
	Enforced    Status = "enforced"
	Partial     Status = "partial" // with exceptions, which Verdict.Reason names
	NotEnforced Status = "not_enforced"
)

// A Verdict is the status of one capability.
type Verdict struct {
	Capability string
	Status     Status
	Reason     string
}

// System says what can be enforced on this machine. The error fields are nil for a feature that is
// available, and otherwise say why it is not. The zero value means that all of them are available.
type System struct {
	Namespaces error // user, mount, process, IPC, host name, cgroup and network namespaces
	Redirect   error // every connection can be redirected to the host
	Landlock   error
	Scoped     bool  // Landlock also isolates signals and abstract sockets
	Filter     error // system calls can be filtered
	Loader     error // the kernel can refuse to execute a dynamic loader directly

	// Token says that the plugins' daemon lets no client in without a token. The caller sets it.
	// Without namespaces the daemon cannot recognise a plugin by its ancestor processes, so a
	// plugin with net:* needs it.
	Token bool
}

// simple reports whether the sandbox consists of Landlock and the filter alone, without namespaces.
func (s *System) simple() bool { return s != nil && s.Namespaces != nil }

// Possible returns nil if some kind of sandbox can be built here, and otherwise says why not.
func (s *System) Possible() error {
	if s.Namespaces == nil {
		return nil
	}
	if err := errors.Join(s.Landlock, s.Filter); err != nil {
		return fmt.Errorf("no sandbox: namespaces: %w", errors.Join(s.Namespaces, err))
	}
	return nil
}

// Judge returns for each capability how far it is enforced here. If no capability is about the
// network, the last verdict is on net:[], the network with nothing in it.
func (s *System) Judge(grants []capability.Capability) []Verdict {
	var verdicts []Verdict
	for _, g := range grants {
		v := s.judge(g, grants)
		v.Capability = g.String()
		verdicts = append(verdicts, v)
	}
	if !slices.ContainsFunc(grants, capability.Capability.Network) {
		v := s.judge(capability.Capability{Kind: capability.NetNone}, grants)
		v.Capability = string(capability.NetNone)
		verdicts = append(verdicts, v)
	}
	return verdicts
}

// judge returns the verdict on g, which is one of the grants.
func (s *System) judge(g capability.Capability, grants []capability.Capability) Verdict {
	switch g.Kind {
	case capability.StorageRead, capability.StorageWrite:
		return Verdict{Status: Enforced, Reason: "every storage call passes through the host"}
	}
	if err := s.Possible(); err != nil {
		return Verdict{Status: NotEnforced, Reason: err.Error()}
	}
	switch g.Kind {
	case capability.ReadFS, capability.WriteFS:
		return s.judgeFiles(g.Kind, grants)
	case capability.Exec:
		return s.judgeExec()
	case capability.NetAny:
		return s.judgeAnyNet()
	case capability.NetNone:
		return s.judgeNoNet()
	}
	return s.judgeHost(g)
}

func (s *System) judgeFiles(kind capability.Kind, grants []capability.Capability) Verdict {
	switch {
	case s.simple():
		return Verdict{Status: Partial, Reason: "by Landlock alone: names, sizes and times of other files can be seen, and the processes in /proc; " +
			attributesAlone(kind, grants) + "no namespaces: " + s.Namespaces.Error()}
	case s.Landlock != nil && kind == capability.ReadFS:
		return Verdict{Status: Partial, Reason: "nothing else is mounted, but named pipes in it can be written to; no Landlock: " + s.Landlock.Error()}
	}
	return Verdict{Status: Enforced, Reason: "nothing else is mounted"}
}

// attributesAlone says how changes to modes, owners, times and extended attributes are restricted
// if there is only Landlock, which does not control them.
func attributesAlone(kind capability.Kind, grants []capability.Capability) string {
	writes := func(g capability.Capability) bool { return g.Kind == capability.WriteFS }
	switch {
	case slices.Contains(grants, capability.Capability{Kind: capability.WriteFS, Path: "/"}):
		return ""
	case !slices.ContainsFunc(grants, writes):
		return "chmod, chown, utime and setxattr are refused; "
	case kind == capability.ReadFS:
		return "its files' modes, owners, times and attributes can be changed, too, because a write:fs: is granted; "
	}
	return "chmod, chown, utime and setxattr work only through a descriptor, but then on every file that may be read; files that the plugin writes can be loaded as code; "
}

// Weakness says what a sandbox of Landlock alone means for every plugin in it, whatever was
// granted, and how to get a full sandbox. Both results are empty if there are namespaces, or if no
// sandbox can be built.
func (s *System) Weakness() (what, fix string) {
	if !s.simple() || s.Possible() != nil {
		return "", ""
	}
	return "its sandbox is Landlock alone: names, sizes and times of other files, other processes, and the machine's data in /proc can be seen; " +
			"chmod, chown, utime and setxattr by path fail with EPERM; home and TMPDIR are a directory on disk; no namespaces: " + s.Namespaces.Error(),
		"allow user namespaces (on Ubuntu by an AppArmor profile with userns, in a container by its runtime); see \"How far it goes on your machine\" in docs/security.md"
}

func (s *System) judgeExec() Verdict {
	const byLoader = "by Landlock; programs among the system's libraries can be started through the loader: "
	switch {
	case s.Landlock != nil:
		return Verdict{Status: Partial, Reason: "programs among the system's libraries can be started too; no Landlock: " + s.Landlock.Error()}
	case s.simple():
		return Verdict{Status: Partial, Reason: byLoader + "no namespaces: " + s.Namespaces.Error()}
	case s.Loader != nil:
		return Verdict{Status: Partial, Reason: byLoader + s.Loader.Error()}
	}
	return Verdict{Status: Enforced, Reason: "by Landlock, and the loader by binfmt_misc"}
}

func (s *System) judgeAnyNet() Verdict {
	switch {
	case s.simple() && !s.Token:
		return Verdict{Status: NotEnforced, Reason: "the daemon could not distinguish the plugin from other programs, and would serve it: " +
			"set token in [server] of the configuration; no namespaces: " + s.Namespaces.Error()}
	case s.Filter != nil:
		return Verdict{Status: Partial, Reason: "sockets of every kind; no filter: " + s.Filter.Error()}
	case !s.Scoped:
		return Verdict{Status: Partial, Reason: "abstract sockets of other programs can be reached: this kernel's Landlock does not keep them apart"}
	}
	return Verdict{Status: Enforced, Reason: "the host's network, without restriction"}
}

func (s *System) judgeNoNet() Verdict {
	if s.simple() {
		return Verdict{Status: Enforced, Reason: "no sockets of the network's kinds can be made"}
	}
	return Verdict{Status: Enforced, Reason: "a network of its own, with nothing in it"}
}

func (s *System) judgeHost(g capability.Capability) Verdict {
	switch {
	case s.simple():
		return Verdict{Status: NotEnforced, Reason: "needs a network namespace: " + s.Namespaces.Error()}
	case g.AnyPort && s.Redirect != nil:
		return Verdict{Status: NotEnforced, Reason: "all ports of a host need nftables: " + s.Redirect.Error()}
	}
	return Verdict{Status: Enforced, Reason: "every connection and every name passes through the host"}
}
