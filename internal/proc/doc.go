// Package proc starts, watches and ends the host's child processes. It is the one place in the
// module that does.
//
// A [Group] is every process of one host. It hands out a process in one of four ways:
//
//	Group.Start    a process that lives on; its owner talks to it over Stdin and Stdout and ends it with Process.Stop
//	Keep           the same, opened again with growing pauses whenever it dies
//	Group.Run      a process per call: payload to stdin, stdout collected, exit awaited
//	Group.Standby  Run with processes started ahead, so that a call does not wait for an interpreter to boot
//
// What all of them promise:
//
//   - The child has a process group of its own, exactly the environment of [Spec], and no descriptor but its three
//     pipes and what Spec.Files names.
//   - stderr is read line by line into Spec.Log within a budget; a flood costs the plugin nothing and us no memory.
//   - A program that would not start is explained: *[program.StartError] has the reason and what mends it.
//   - Nothing outlives its purpose: Stop and a call's time-out reach the whole process group and what left it by setsid;
//     Group.Close leaves nothing alive; and when the host dies, by kill -9 too, the guardian does the same ([guard]).
//
// What it is not: it knows no protocol, no plugin, no dialect. It reads no configuration and
// decides no policy; the caller brings the environment, the deadlines and the ladder. It is no
// sandbox either.
//
// # The way of one process
//
//	Start ─► start ─► guardian.stand      once: the guardian, beside the child, not before it
//	              ├─► resolve             PATH look-up; a pyenv-like shim is replaced by what it would run (package program)
//	              └─► spawn ─► Enforcer   only where it has limits: its cgroup (package limits)
//	                       ├─► hold.start os.StartProcess, again while the file is busy
//	                       │    └─► mark  before its first instruction: the guardian will find it and all its offspring;
//	                       │              and its limits (Enforcer.Set)
//	                       ├─► stderr.run goroutine: lines to the log, the tail kept
//	                       └─► watch      goroutine: await exit ─► lastRites ─► reap ─► Done
//
//	Run ─► start ─► call ─► feed stdin, read stdout, wait for Done
//	            └─► startSpare            instead of spawn, where a box was built ahead (spares)
//	Stop ─► close stdin ─ l.Stdin ─► SIGTERM ─ l.Term ─► SIGKILL, each to the whole group
//
// os.StartProcess is used, not exec.Cmd, because Cmd.Wait reaps the leader of the group the moment
// it ends. From then on its number may belong to a stranger, and what is left of its group cannot
// be signalled safely. Here the leader stays a zombie until the group has been dealt with (watch),
// and no signal is sent after it is reaped. There is no state to go stale between two tries either,
// which a Cmd has. What Cmd.WaitDelay does, finishReading does.
//
// # Shortcomings
//
// On Linux each child is stopped for a moment at its exec, as by a debugger, to be marked before it
// can fork (hold). Where that is forbidden, and for programs with rights of their own (setuid), it
// is marked and limited a moment after, and what it forks twice within that moment is not found
// again. On macOS and the BSDs there is no mark: a process that leaves its process group is lost,
// and one that Run leaves behind after a normal exit lives as long as it likes. On Windows there
// are no process groups and no SIGTERM: the process itself is killed, what it started is not; there
// is no guardian, and pipes have no deadlines, so that a grandchild that keeps stdout open keeps
// Run waiting.
//
// With its first process a Group sets close-on-exec on every descriptor of the program above 2,
// once. Descriptors a program was itself born with would otherwise reach each plugin. os/exec is
// not affected (it duplicates ExtraFiles), but a program that embeds a host and then replaces
// itself with syscall.Exec must clear the flag on what it wants to keep.
package proc
