// Package sessionstore keeps conversations with the agent, and lets one turn at a time write to
// each.
//
// A session is a record in a bucket and a transcript in a stream. The transcript is only ever added
// to: messages, compactions, and how far each turn has come. What was acknowledged is on disk, and
// is there again whatever became of the process that wrote it.
//
//	Store.Begin
//	├─ Turn.take
//	│  ├─ tails.take, load   the conversation, from memory or from its last compaction on
//	│  ├─ sessionLease.judge a turn is open: does its process live? (package lease); else a BusyError
//	│  ├─ enter              the first entry of ours is the claim: from here on no other turn's entries fit
//	│  │  └─ mending         a turn without an end is recorded as interrupted, calls without results get one
//	│  └─ refresh            somebody else's entry was there first: read it, and judge again
//	├─ checkNotDeleted            the session was not deleted meanwhile
//	└─ sessionLease.keep     a sign of life every third of its time, until the end
//	Turn.Append, Turn.Compact
//	└─ write → put → send    behind the last entry that we know of, or not at all
//	   └─ catchUp            something is in our place: our own, its answer lost, or another's: the turn is lost
//	Turn.End
//	├─ write                 how it ended, which ends the claim
//	├─ leave                 the conversation stays in memory for the next turn
//	└─ sessionLease.release  no more signs of life
//	Store.Page
//	├─ order.nextPlaces      the places that come next, without reading the others
//	└─ parts.sessionsAt            their sessions, in one question
//
// A claim keeps two turns from running at once. It cannot keep a process that was stopped for a
// minute from going on as if nothing had happened: claims run out. So every entry names the one it
// must stand behind, and the engine refuses it where another stands there. That is the fence; the
// claim only spares people from running into it.
//
// What is kept in memory is a guess that the fence tests: where another process has written since,
// our first entry does not fit, and what is missing is read.
//
// An entry whose answer was lost is sent again under the same id, which the engine takes for the
// same entry, and looked for in the transcript where the engine has forgotten the id. It is never
// written twice.
//
// It is not the agent: what is said in a turn is decided in adapter/chat, to which a [*Turn] is the
// log. It cuts nothing: an entry that is larger than the engine takes is an error, and tool output
// is cut where it arises.
package sessionstore
