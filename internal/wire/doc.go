// Package wire speaks newline-delimited JSON-RPC 2.0 over the pipes of a plugin process, with a
// hard cap on the size of a message in either direction. It knows no dialect: what a method means
// is its caller's business. It starts no process.
//
// There are two kinds of connection, because wake-ups are most of what a small call costs:
//
//   - [Serial] is for plugins that are asked one thing at a time and send nothing unasked. The goroutine that calls
//     writes the request and reads the reply itself. At rest it has no goroutine.
//   - [Peer] is for plugins that are asked many things at once, and that send notifications and requests of their own. A
//     goroutine reads; requests sent at the same moment share a write.
//
// [Serve] is the other side, for plugins written in Go.
//
// # What a call goes through
//
//	Serial.Call
//	  lock                   one call at a time
//	  compose                the request, behind what is left of a half-sent line
//	  exchange ┬ Reader.line ─ judge ─ scanMessage ─ accept
//	           └ read ─ nothingToRead ─ transmit ─ (does not fit the pipe) pump
//	                └ linger.wait, or the runtime's poller
//	  settle                 ends what the call has set going
//	  message.outcome        a result of its own, or the error
//
//	Peer.Call
//	  register               a slot in the pending calls
//	  outbox.request ─ write ─ (pipe full) drain
//	  await                  until the reading goroutine has filled the slot: see Peer.read
//
// # Hostile plugins
//
// Whatever a plugin writes is hostile until it is scanned. A line over the cap is discarded as it
// comes, and the stream is in step again at the next newline. What belongs to no call (garbage,
// late and doubled replies) is a [Noise] for the owner to log, and never an error of somebody
// else's call. A plugin that does not read cannot hold up its callers longer than their contexts,
// nor make us keep more than a bounded amount of bytes for it.
//
// A message is validated once, here, as far as JSON goes: results and params handed out are valid
// JSON, at most [rawjson.MaxForeign] levels deep, compact and valid UTF-8. A deeper result fails
// its call, a deeper request is answered with an error, a deeper notification is a noise. What is
// in them is not looked at.
//
// On systems where pipes have no deadlines (Windows), a call cannot be interrupted while it waits:
// it ends when the plugin answers or when its process does.
package wire
