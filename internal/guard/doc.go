// Package guard contains the guardian: a small process that outlives the host for a moment and
// kills every process that the host started.
//
// A host that is killed with SIGKILL cannot clean up, and a plugin can be hard to find: it may
// ignore SIGTERM, fork twice, call setsid and clear its environment. So [internal/proc] marks each
// child with a number that all its descendants inherit and that is not lost by accident. It also
// starts one guardian, which waits for the end of a pipe that only the host holds open. When the
// host has ended, for whatever reason, the guardian kills all processes with the mark.
//
//	host                              guardian
//	  proc.Group ── pipe (stdin) ──►  init → watch        blocks in read; the lines "pid" and "-pid" add and remove process groups
//	  killed, exits, crashes    EOF   → killGroups        the groups that were added and not removed
//	                                  → Sweep             all processes with the mark, until there are none
//	                                  → exit
//
// The guardian is the host's own executable, started again under the name [Name]. So nothing has to
// be installed, and a program that embeds the host gets the guardian by importing it. For that the
// package has an init function, like package jail: it must take over before the main of the
// embedding program, which does not know guardians. Under any other name it does nothing.
//
// # The mark
//
// The mark is the value of RLIMIT_RTTIME, soft and hard. That limit bounds the CPU time of a
// process under real-time scheduling. The values used here, usually from 2^61 to 2^62 microseconds,
// are too large to have an effect. The limit is inherited through fork, exec and setsid, needs no
// privilege to set, can be read from outside, and its hard limit cannot be raised again without
// privilege. Only Linux has such a limit. On other Unix systems the guardian kills only the process
// groups that were sent to it: a plugin that leaves its group survives its host there. On Windows
// there is no guardian.
//
// The mark finds the processes of careless programs, not of hostile ones: a process may lower the
// limit on purpose, and so lose the mark. Plugins that must not escape need the sandbox.
package guard
