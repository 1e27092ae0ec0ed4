// Package limits bounds the resources of the machine that processes use ([Limits]), and the file
// descriptors of the host that its plugins use ([Descriptors]). It starts no processes and does not
// know plugins. Package proc starts the processes, and package sandbox sets some of the limits
// inside its jails.
//
//	Limits           memory, processes, open files, CPU time of a process and all processes that it starts
//	Supported        what enforces each of them on this system
//	Cgroups          one for each host: the cgroups of its processes
//	├─► Enforcer     enforces the limits of one process, prepared before its start
//	├─► Drop         when the process is reaped
//	└─► Close        with the host
//	Descriptors      how many file descriptors of the host its plugins may use together
//
// # How a process is limited
//
//	Cgroups.Enforcer ─► enclose ─► find ─► findCgroup, divide   once: the host's own cgroup
//	                 │          └─► open ─► cgroup.limit        a cgroup below it, with the limits
//	                 └─► alreadyRunning, Rlimits                limits that no cgroup enforces
//	Enforcer.Attach    starts the process in its cgroup
//	Enforcer.Set       before its first instruction: setRlimits, or SIGKILL
//	Enforcer.Check     returns why Set failed
//	Enforcer.Kill      kills everything in the cgroup, when the process is ended
//	Enforcer.Exceeded  returns the limit for which the process was killed
//
// On Linux the host sets limits as rlimits while the child is held at its start. For memory and
// processes a cgroup of version 2, one for each process, is better. It is used if the host's own
// cgroup has these controllers and may be divided: if it is the root, or if systemd has delegated
// it (Delegate=yes). In the delegated case the host moves itself and its children into a leaf of
// its cgroup, because a cgroup that passes controllers down may have no processes of its own.
// Nothing is moved or created before the first process with such a limit. If a limit cannot be set,
// the start fails. If this system cannot enforce a limit at all, the start does not fail:
// [Supported] reports that, and the caller decides. Only Linux enforces limits.
//
// Limits protect against careless programs. A program that runs as the host's own user, outside of
// a sandbox, can write the files of its cgroup as the host can, and root can raise its own rlimits.
package limits
