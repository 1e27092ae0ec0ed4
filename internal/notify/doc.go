// Package notify tells people what became of scheduled agents: on their desktop, by iMessage,
// Slack, ntfy, Pushover or Telegram. These are the drivers of a manifest's [[notifiers]] that are
// built in.
//
// What it is not: of a manifest it reads a driver's own keys alone, and it knows no agent, only
// messages about one. The driver "plugin" is not here; the hub calls those, and a caller that wants
// them under the same rate limits wraps them in a [Sender]. It is no queue that survives the
// process either: a notification is news, and is sent on a best-effort basis
// (docs/protocols/dotagent.md, row D56).
//
// # The way of one message
//
//	Dispatch.Send ─► enqueue ─► sendLine      for each route; goroutine: one a line, so that messages keep their order
//	                             └► deliver
//	                                ├► Limiter.Allow     rate_limit_minutes, and how many were held back
//	                                ├► Notifier.Send   the driver, below
//	                                └► Limiter.RecordSent   only what was sent counts as told
//
//	Read | New ─► settings ─► expand         every key asked for by name, ${NAME} in every string
//	     └► newSlack, newNtfy, …             one file a driver
//
//	remote.Send ─► message                   the driver's request; Describe shows the same one, masked
//	            └► try, again on 429 and 5xx ─► answerError, sendError: errors without secrets
//
//	desktop.Send ─► sessionBus, else notifySend; appleScript; powerShell
//	imessage.Send ─► osascript
//
// # Secrets
//
// A token, a webhook's address and an ntfy topic are secrets, and so is the value of every ${NAME}.
// They are in no error, log or [Preview]: previews are built from masked settings ([text]), foreign
// words go through a [scrubber], and the errors of net/http, which name the URL, are taken apart.
//
// # Why no desktop library
//
// gen2brain/beeep was tried. It starts processes by itself, with the host's whole environment and
// no deadline, or has the D-Bus library start a bus; its application name and time-out are global
// variables; on macOS it writes the texts into the script; and it has no place for subtitle, sound,
// urgency and expire_ms. What the systems offer is small enough to be asked directly: one call on
// the session bus, one script each for macOS and Windows.
package notify
