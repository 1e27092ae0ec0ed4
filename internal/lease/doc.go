// Package lease decides whether a process still holds something that only one process may hold at a
// time: a session during a turn, a schedule during a run.
//
// A [Holder] identifies a process by machine, process id and start time. Its callers store the
// holder together with what it holds. The holder writes a heartbeat every few seconds. A process
// that wants to take over asks a [Judge]:
//
//	Judge.Ask
//	├─ Holder.State          is it a process of this machine, and is it alive?
//	│  ├─ Dead ─► Holder.EndLeftovers    free as soon as no process that it started is left
//	│  └─ Alive, Elsewhere
//	└─ Heartbeat.Age         the age of the last heartbeat, by the engine's clock alone
//	   ├─ at most the TTL              held
//	   ├─ far in the future            held; the clock was set back, so the heartbeat must be written again
//	   └─ more than the TTL            unsure; free if no heartbeat comes while the judge watches
//
// The state of the process comes first, because a crash on this machine is then known at once. The
// last step is there because a clock that is set forward makes every heartbeat look old. A living
// holder writes two heartbeats in two thirds of the TTL. That is enough to recognize it even if one
// of them is lost.
//
// A process in another pid namespace counts as elsewhere, because process ids mean other processes
// there. On systems other than Linux every process counts as elsewhere, because it cannot be found
// out whether a dead process has left others running.
//
// The package stores nothing. Its callers store holders and heartbeats.
package lease
