// Package limits bounds what processes use: of the machine ([Limits]) and of the host
// ([Descriptors]). It starts nothing and knows no plugin; package proc starts the processes that
// are bounded, and package sandbox sets in its jails what is left to it.
//
//	Limits           memory, processes, open files, CPU time: what a process and all it starts may use
//	Supported        what keeps each of them on this system
//	Cgroups          one for each host: the cgroups of its processes
//	├─► Enforcer     what keeps one process within its limits, from before its birth on
//	├─► Drop         when the process is reaped
//	└─► Close        with the host
//	Descriptors      how many file descriptors of the host its plugins may cost it, all together
//
// # How a process is limited
//
//	Cgroups.Enforcer ─► enclose ─► find ─► findCgroup, divide   once: the host's own cgroup
//	                 │          └─► open ─► cgroup.limit        a cgroup below it, limits written
//	                 └─► alreadyRunning ─► Rlimits              what no cgroup keeps
//	Enforcer.Attach    the process is born in its cgroup
//	Enforcer.Set       before its first instruction: setRlimits, or SIGKILL
//	Enforcer.Check     why Set failed
//	Enforcer.Kill      when the process is ended: all that is in the cgroup
//	Enforcer.Exceeded  which limit it was killed for
//
// On Linux the host sets limits as rlimits while the child is held. Memory and processes are
// bounded better by a cgroup of version 2, one for each process, where the host's own has those
// controllers and may be divided: it is the root, or systemd has delegated it (Delegate=yes), in
// which case the host moves itself and what it has started into a leaf of it, since a cgroup that
// hands controllers down may have no processes of its own. Nothing is moved or made before the
// first process with such a limit. A limit that cannot be set fails the start; one that this system
// cannot keep at all does not: [Supported] tells, and the caller decides. Elsewhere than on Linux
// none is kept.
//
// Limits hold against careless programs. One that runs as the host's own user, outside of a
// sandbox, can write to its cgroup's files as well as the host can, and root can raise its own
// rlimits.
package limits
