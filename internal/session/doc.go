// Package session keeps conversations with the agent, and lets one turn at a time write to each.
//
// A session is a record in a bucket and a transcript in a stream. The transcript is only ever added to: messages,
// compactions, and how far each turn has come. What was acknowledged is on disk, and is there again whatever became of
// the process that wrote it.
//
//	Store.Begin
//	├─ sessionLease.take     one claim a session, in whatever process or machine; else a BusyError
//	│  └─ judge              somebody else's: does that process live? (package lease)
//	├─ sessionLease.keep     renewed every third of its time until it is given back
//	├─ Turn.enter            the transcript is read, once
//	│  ├─ mending            a turn without an end is recorded as interrupted, calls without results get one
//	│  └─ put                the first entry of ours: from here on no other turn's entries fit
//	└─ stillThere            the session was not deleted meanwhile
//	Turn.Append, Turn.Compact
//	└─ write → put → send    behind the last entry that we know of, or not at all
//	   └─ catchUp            something is in our place: our own, its answer lost, or another's: the turn is lost
//	Turn.End
//	├─ write                 how it ended
//	└─ sessionLease.release
//
// The lease keeps two turns from running at once. It cannot keep a process that was stopped for a minute from going
// on as if nothing had happened: leases run out. So every entry names the one it must stand behind, and the engine
// refuses it where another stands there. That is the fence; the lease only spares people from running into it.
//
// An entry whose answer was lost is sent again under the same id, which the engine takes for the same entry, and looked
// for in the transcript where the engine has forgotten the id. It is never written twice.
//
// It is not the agent: what is said in a turn is decided in adapter/chat, to which a [*Turn] is the log. It cuts
// nothing: an entry that is larger than the engine takes is an error, and tool output is cut where it arises.
package session
