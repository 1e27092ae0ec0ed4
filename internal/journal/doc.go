// Package journal keeps what happened: the agent's events and the traces of what plugins did, for a
// week.
//
//	Journal.Publish          when it returns, the event is on disk
//	└─ engine.Stream.Append  the topic is session, kind and turn
//	Journal.Post             never waits: into the queue, or dropped and counted
//	└─ Journal.drain         one goroutine, in the order of the posts
//	   └─ engine.Stream.AppendAll, or Append where few wait
//	Journal.Read, Follow     from a sequence number on: of one session or kind without reading the others, or of all
//	Journal.Newest           the last ones, from the end: of one session, kind or turn alone
//
// It is for whole events: a turn began or ended, a point was fired (its trace), the model replied,
// a tool call began or ended, a transcript was compacted, a session, plugin or feature was changed.
// It is not for pieces: text as it is streamed, output of a tool as it comes, retries. Every event
// is synced to disk, which a token is not worth; pieces go straight to whoever is watching, and the
// event that ends them has the whole.
//
// It is not the transcript, which is never dropped and never too old; see package session. It holds
// what plugins saw, so whoever deletes a session wants [Journal.Forget] too.
package journal
