// Package sessionstore stores conversations with the agent, and lets one turn at a time write to
// each.
//
// # Sessions
//
// A session is a record in a bucket, and a transcript in a stream. [Store.Create], [Store.Get],
// [Store.Update] and [Store.Delete] work on records. [Store.Page] lists them, the newest first:
//
//	Store.Page
//	├─ order.nextPlaces      the next records of the list, without reading the others
//	└─ parts.sessionsAt      their sessions, with one request
//
// Entries are only added to a transcript: messages, compactions, and how far each turn has come.
// When a write has returned, its entry is on disk, and stays there if the process dies.
//
// # A turn
//
// [Store.Begin] begins a turn, which holds the session. [Turn.Append] and [Turn.Compact] write, and
// [Turn.End] releases the session.
//
//	Store.Begin
//	├─ Turn.take
//	│  ├─ tails.take, load   the conversation, from memory or from its last compaction on
//	│  ├─ checkOpenTurn      if a turn is open: is its process alive? (package lease) Then a BusyError
//	│  ├─ writeBegan         our first entry is the claim: from now on the engine refuses entries of other turns
//	│  │  └─ repairs         ends a turn that was cut off, and adds missing results of tool calls
//	│  └─ refresh            another entry was first: read it, and check again
//	├─ checkNotDeleted       was the session deleted meanwhile?
//	└─ sessionLease.keep     a heartbeat, three times in the period of a lease, until the end
//	Turn.Append, Turn.Compact
//	└─ write → put → send    behind the last known entry, or not at all
//	   └─ catchUp            another entry is in this place: our own, if its answer was lost, or another turn's
//	Turn.End
//	├─ write                 how the turn ended, which ends the claim
//	├─ handOver              the conversation stays in memory for the next turn
//	└─ sessionLease.release  no more heartbeats
//
// # Two turns at once
//
// A claim keeps a second turn from starting. But claims expire, and a process that was stopped for
// a minute can continue a turn whose claim has expired. So every entry names the entry that it must
// follow, and the engine refuses it if another entry is there. This check makes two writers
// impossible; the claim only makes it rare that the check fails.
//
// The conversation in memory may be outdated. The same check shows this: if another process has
// written, our first entry is refused, and the missing entries are read.
//
// An entry whose answer was lost is sent again with the same id, by which the engine recognizes it.
// If the engine has forgotten the id, the entry is searched for in the transcript. It is never
// written twice.
//
// # What it is not
//
// The package is not the agent. Package adapter/chat decides what happens in a turn, and uses a
// [*Turn] as its log. The package shortens nothing: an entry larger than the engine's limit is an
// error, and tools shorten their own output.
package sessionstore
