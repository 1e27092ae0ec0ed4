// Package lease says who holds something that one process at a time may hold, and whether that
// process still does: a session during a turn, a schedule during a run.
//
// A [Holder] names a process: the machine, the number, the start time. What is held is written down
// with its holder, and the holder gives a sign of life every few seconds. Whoever wants it next
// asks a [Judge]:
//
//	Judge.Ask
//	├─ Holder.State          is it a process of this machine, and does it live?
//	│  ├─ Dead ─► Holder.WaitForLeftovers        free at once, when nothing that it started runs any more
//	│  └─ Alive, Elsewhere
//	└─ Heartbeat.Age              how long ago the last sign was, by the engine's clock alone
//	   ├─ within the time             held
//	   ├─ in the future               held; the clock was set back: the sign is to be written again
//	   └─ beyond it                   unsure, and free when no sign comes while the judge watches
//
// Why a dead process is asked for first: a crash on this machine is known at once, without waiting
// for anything to run out. Why the last step: a clock that jumps forward makes every sign look old.
// A holder that lives gives two signs within two thirds of the time, which is enough to tell an old
// sign from a clock that jumped, though one of them goes amiss.
//
// Another pid namespace counts as elsewhere, since its numbers mean other processes, and so does
// every machine but Linux, where nobody can tell whether a dead process has left anything running.
//
// It stores nothing: how a holder and a sign are kept is for its callers to say.
package lease
