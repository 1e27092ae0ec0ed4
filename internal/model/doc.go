// Package model talks to the language model behind the agent. A conversation goes in, and the next
// message comes out as a stream. It supports Anthropic, OpenAI and every compatible endpoint, and
// has an offline model that plays scripts without a network.
//
// It runs no tools, stores no transcript, compacts nothing, and does not know plugins. Calls do not
// depend on each other, so one [Model] serves all sessions.
//
// # Opening
//
// A [Config] names the provider and the model. [Open] finds the base URL and the key, and contacts
// no server yet. [Offline] makes an offline model from a [Script]; a test that needs a model uses
// it.
//
//	Open ─ site.resolve            base URL, key (endpoint.go)
//
// # The path of a reply
//
//	remote.Reply                   (retry.go)
//	├─ prepare                     turns any conversation into one that every provider accepts (prepare.go, names.go)
//	├─ once                        up to five times
//	│  ├─ newWatch                 limits silence, duration and size (watch.go)
//	│  ├─ try                      one request over net/http (ask.go)
//	│  │  ├─ provider.body, sign   the provider's format and headers (anthropic.go, openai.go)
//	│  │  ├─ readError, notStream  answers that are not a reply (answer.go)
//	│  │  └─ readEvents            the events of the stream (ask.go, sse.go)
//	│  │     └─ provider.addEvent  decodes an event leniently (loose.go)
//	│  │        └─ reply.addText, …   sends deltas to the listener, and collects the response (reply.go)
//	│  └─ refusalOf, transportError   turn every error into an *Error (retry.go, errors.go)
//	├─ pause                       Delta{Retry}, then Retry-After or a growing pause
//	└─ reply.response
//
//	offline.Reply                  script or echo (offline.go, script.go)
//
// # What callers can rely on
//
// Arguments of a tool call are always a JSON object. If a model wrote something else, Arguments is
// {} and [ToolCall.Malformed] has its text. Such a call must not run; [ToolCall.Problem] is the
// answer for the model. Ids of calls are unique within a conversation. Tools may have any name: a
// name that a provider does not accept is replaced in requests, and restored in replies.
//
// A transcript may be irregular: calls without results, results without calls, empty replies,
// system messages anywhere, two messages of one side in a row.
//
// The errors of Reply are [*Error]. errors.Is recognizes [ErrTooLong], [ErrAuth], [ErrIdle] and the
// errors of a context. Keys never appear in errors or logs: they are looked up by name, held as
// [config.Secret], and removed from the texts of servers.
//
// The tests use servers that speak the real formats, in package modeltest.
package model
