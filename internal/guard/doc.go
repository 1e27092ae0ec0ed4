// Package guard is the guardian: the small process that outlives the host by a moment, to take with
// it every process that the host started.
//
// A host that is killed with SIGKILL cannot clean up after itself, and a plugin can make itself
// hard to find: ignore SIGTERM, fork twice, call setsid, clear its environment. So [internal/proc]
// marks each child with a number that all its descendants inherit and none can take off by
// accident, and starts one guardian, which waits for the end of a pipe that only the host holds
// open. When the host is gone, however it went, the guardian kills what bears the mark.
//
//	host                              guardian
//	  proc.Group ── pipe (stdin) ──►  init → watch        blocks in read; lines "pid" and "-pid" name groups, and take them back
//	  killed, exits, crashes    EOF   → killGroups        the groups named and not taken back
//	                                  → Sweep             whatever bears the mark, until nothing does
//	                                  → exit
//
// The guardian is the host's own executable, started again under the name [Name]. Nothing has to be
// installed, and a program that embeds the host gets it by importing it. That is why this package
// has an init function, the only one in the module: it must take over before the embedding
// program's main, which knows nothing of guardians. It leaves the process untouched under any other
// name.
//
// # The mark
//
// The mark is the value of RLIMIT_RTTIME, soft and hard. That limit bounds the CPU time of a
// process under real-time scheduling; at the values used here, around 2^61 microseconds, it bounds
// nothing. It is inherited through fork, exec and setsid, needs no privilege to set, can be read
// from outside, and its hard limit cannot be raised again without privilege. Where there is no such
// limit (everywhere but on Linux) the guardian kills the named process groups only: a plugin there
// that leaves its group survives its host. On Windows there is no guardian at all.
//
// It is a leash for careless programs, not a wall against hostile ones: a process may lower the
// limit on purpose, and so lose the mark. What must not escape belongs in the sandbox.
package guard
