// Package wire speaks newline-delimited JSON-RPC 2.0 over the pipes of a plugin process, and limits
// the size of a message in either direction.
//
// There are two kinds of connection, because wake-ups are most of the cost of a small call:
//
//   - [Serial] is for plugins that get one request at a time and send nothing but replies. The
//     goroutine that calls writes the request and reads the reply itself. At rest it has no
//     goroutine.
//   - [Peer] is for plugins that get many requests at once, and that send notifications and
//     requests themselves. A goroutine reads; requests that are sent at the same moment share a
//     write.
//
// [Serve] is the other side, for plugins written in Go.
//
// The package knows no dialect and no method, and it starts no process.
//
// # The path of a call
//
//	Serial.Call
//	  lock                   one call at a time
//	  compose                the request, after the rest of a half-sent line
//	  exchange ┬ Reader.line ─ handleLine ─ scanMessage ─ accept
//	           ├ transmit ─ (does not fit the pipe) pump
//	           └ read ─ linger.wait, or the runtime's poller
//	  endCall                stops the pump and the watch on the context
//	  message.outcome        a copy of the result, or the error; for Ask, also the fields
//
//	Peer.Call
//	  register               a slot in the pending calls
//	  outbox.request ─ write ─ (pipe full) drain
//	  await                  until the reading goroutine has filled the slot: see Peer.read
//
// # Hostile plugins
//
// All output of a plugin is hostile until it is scanned. A line over the size limit is discarded
// while it arrives, and reading goes on after the next newline. Output that belongs to no call
// (garbage, late and repeated replies) is a [Noise], which the owner of the connection logs. It
// never fails another call. A plugin that does not read cannot delay its callers beyond their
// contexts, nor make the host buffer more than a bounded number of bytes.
//
// A message is validated once, here. Results and params that [Serial] and [Peer] return are valid
// JSON, at most [rawjson.MaxForeign] levels deep, compact and valid UTF-8. A deeper result fails
// its call, a deeper request is answered with an error, a deeper notification is a noise. Nothing
// else about their content is checked. [Serve] accepts deeper messages, because they come from the
// host.
//
// On systems where pipes have no deadlines (Windows), a call cannot be interrupted while it waits:
// it ends when the plugin answers or exits.
package wire
