// Package notify sends messages about scheduled agents to people: on their desktop, by iMessage,
// Slack, ntfy, Pushover or Telegram. These are the built-in drivers of a manifest's [[notifiers]].
//
// The package reads only a driver's own keys of a manifest. It knows messages about agents, not
// agents. It does not have the driver "plugin": the host calls plugins, and a caller that wants the
// same rate limits for them wraps them in a [Sender]. Messages that wait are lost when the process
// ends, since delivery is best effort.
//
// # The way of one message
//
//	Dispatch.Send ─► enqueue ─► sendLine     for each route; one goroutine for each line, so that messages stay in order
//	                             └► deliver
//	                                ├► Limiter.Allow        rate_limit_minutes, and how many were held back
//	                                ├► Sender.Send          the driver, below
//	                                └► Limiter.RecordSent   only a message that was sent counts
//
//	Read | New ─► settings ─► expand         reads every key by name; replaces ${NAME} in every string
//	     └► newSlack, newNtfy, …             one file for each driver
//
//	remote.Send ─► message                   the driver's request; Describe shows the same request, masked
//	            └► try, again on 429 and 5xx ─► answerError, sendError: errors without secrets
//
//	desktop.Send ─► sessionBus, or else notifySend; appleScript; powerShell
//	imessage.Send ─► osascript
//
// # Secrets
//
// A token, a webhook's address and an ntfy topic are secrets, and so is the value of every ${NAME}.
// No error, log or [Preview] contains them. Previews are built from masked settings ([text]). Texts
// from services go through a [scrubber]. The errors of net/http contain the URL, so only their
// cause is used.
//
// # Why no desktop library
//
// We tried gen2brain/beeep. It starts processes with the host's whole environment and without a
// deadline, or makes the D-Bus library start a bus. Its application name and timeout are global
// variables. On macOS it writes the texts into the script. It cannot set subtitle, sound, urgency
// and expire_ms. The interfaces of the systems are small enough to use directly: one call on the
// session bus, and one script each for macOS and Windows.
package notify
