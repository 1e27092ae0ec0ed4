// Package model is the LLM behind the agent: a conversation goes in, the next message comes out,
// streamed. Anthropic, OpenAI and every endpoint compatible with it, and an offline model that
// needs no network and plays scripts.
//
// It runs no tools, keeps no transcript and compacts nothing; it does not know what plugins are.
// Every call stands by itself, so one [Model] serves all sessions.
//
// # What a reply goes through
//
//	Open ─ site.resolve            base URL, key (endpoint.go)
//
//	remote.Reply                   (retry.go)
//	├─ prepare                     any conversation → one that every provider takes (prepare.go, names.go)
//	├─ once                        up to five times
//	│  ├─ newWatch                 silence, endlessness, size (watch.go)
//	│  ├─ try                      one request over net/http (ask.go)
//	│  │  ├─ provider.body, sign   the provider's words and headers (anthropic.go, openai.go)
//	│  │  ├─ answered, notStream   answers that are no reply (answer.go)
//	│  │  └─ listen                events out of the stream (sse.go)
//	│  │     └─ provider.addEvent      decoded with leniency (loose.go)
//	│  │        └─ reply.say, …    deltas to the listener, the response in the making (reply.go)
//	│  └─ said, broken             whatever went wrong → *Error (errors.go)
//	├─ pause                       Delta{Retry}, then Retry-After or a growing while
//	└─ reply.response
//
//	offline.Reply                  script or echo (offline.go, script.go)
//
// # What callers can rely on
//
// Arguments of a tool call are always a JSON object. A model that wrote something else gets {}
// there and its words in [ToolCall.Malformed]; the call must not run, and [ToolCall.Problem] is
// what to tell the model. Ids of calls are unique within a conversation. Tools may have any names:
// what a provider does not take is renamed on its way out and back.
//
// A transcript may be anything: calls without results, results without calls, replies of nothing,
// system messages anywhere, two messages of one side in a row.
//
// Errors are [*Error]; errors.Is knows [ErrTooLong], [ErrAuth], [ErrIdle] and the context's. Keys
// never show in any of them, nor in logs: they are looked up by name, held as [config.Secret], and
// taken out of whatever servers say.
//
// Tested against servers that speak the real formats, in package modeltest.
package model
