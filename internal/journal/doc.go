// Package journal stores the agent's events and the traces of plugins for a week.
//
//	Journal.Publish          returns when the event is on disk
//	└─ engine.Stream.Append  the topic is session, kind and turn
//	Journal.Post             never waits: puts the event into a queue, or drops and counts it
//	└─ Journal.drain         one goroutine, in the order of the posts
//	   └─ engine.Stream.AppendAll, or Append if few events wait
//	Journal.Read, Follow     read from a sequence number on
//	Journal.Newest           reads the last events backwards
//
// A [Filter] selects the events that are read: all, or only those of one session, kind or turn.
//
// The journal is for whole events: a turn began or ended, a point was fired (its trace), the model
// replied, a tool call began or ended, a transcript was compacted, a session, plugin or feature was
// changed. It is not for pieces, such as streamed text, output of a running tool, or retries. Every
// event is synced to disk, which is too expensive for a single token. Pieces go directly to the
// clients that watch, and the event at the end has the whole.
//
// It is not the transcript, which is never dropped and never expires; see package session. It
// contains what plugins saw, so a caller that deletes a session should also call [Journal.Forget].
package journal
