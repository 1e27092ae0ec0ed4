// Package proc starts, watches and ends the host's child processes. No other package of the module
// does this, except internal/proc/detached.
//
// A [Group] holds all processes of one host. There are four ways to start one:
//
//	Group.Start    a long-lived process; its owner uses Stdin and Stdout, and ends it with Process.Stop
//	Keep           the same, started again with growing pauses whenever it ends
//	Group.Run      a process per call: payload to stdin, stdout collected, exit awaited
//	Group.Standby  Run with processes started ahead, so that a call does not wait for an interpreter to start
//
// All four promise the following. Group.Foreground does not: it runs the user's own program in the
// host's place.
//
//   - The child has its own process group, exactly the environment of [Spec], and no descriptors
//     except its three pipes and Spec.Files.
//   - stderr is read line by line into Spec.Log within a budget. A flood neither blocks the plugin
//     nor uses up the host's memory.
//   - If a program does not start, a *[program.StartError] says why and how to fix it.
//   - No process stays behind: Stop and a call's time-out reach the whole process group and the
//     processes that left it by setsid; Group.Close leaves nothing running; and when the host is
//     killed, even by kill -9, the guardian does the same ([guard]).
//
// The package knows no protocol, plugin or dialect, reads no configuration and decides no policy.
// The caller provides the environment, the deadlines and the [Ladder]. It is not a sandbox either.
//
// # How a process is started and ended
//
//	Start ─► start ─► guardian.ensure     once: starts the guardian, in parallel to the child
//	              ├─► resolve             PATH look-up; a pyenv-like shim is replaced by the program it would run (package program)
//	              └─► spawn ─► create     pipes; with limits a cgroup (package limits); the box
//	                       │    └─► hold.start os.StartProcess, repeated while the file is busy
//	                       │         └─► mark  before its first instruction: sets the mark by which the guardian finds it and
//	                       │                   its descendants, and its limits (Enforcer.Set)
//	                       ├─► stderr.run goroutine: lines to the log, the end kept
//	                       └─► watch      goroutine: await exit ─► killLeftovers ─► reap ─► Done
//
//	Run ─► start ─► startSpare            instead of spawn, if a box was built ahead (spares)
//	    └─► call ─► feed stdin, read stdout, wait for Done
//	Stop ─► close stdin ─ Ladder.Stdin ─► SIGTERM ─ Ladder.Term ─► SIGKILL, the signals to the whole group
//
// The package uses os.StartProcess and not exec.Cmd, because Cmd.Wait reaps the leader of the group
// as soon as it ends. From then on its pid may belong to another process, and the rest of its group
// cannot be signalled safely. Here the leader stays a zombie until its group has ended (watch), and
// no signal is sent after it is reaped. There is also no state to reset between two attempts, as
// there is in a Cmd. finishReading does the work of Cmd.WaitDelay.
//
// # Shortcomings
//
// On Linux each child is stopped for a moment at its exec, as by a debugger, so that it is marked
// before it can fork (hold). If that is forbidden, and for setuid programs, the child is marked and
// limited a moment after its start, and a process that it forks twice within that moment is not
// found again. On macOS and the BSDs there is no mark: a process that leaves its process group is
// lost, and one that a call leaves behind after a normal exit runs as long as it likes. On Windows
// there are no process groups and no SIGTERM: only the process itself is killed, not its children.
// There is no guardian, and pipes have no deadlines, so a grandchild that keeps stdout open keeps
// Run waiting.
//
// With its first process a Group sets close-on-exec, once, on every descriptor of the program above
// 2. Otherwise the descriptors that the program itself inherited would reach each plugin. os/exec
// is not affected (it duplicates ExtraFiles), but a program that embeds a host and then replaces
// itself with syscall.Exec must clear the flag on the descriptors that it wants to keep.
package proc
