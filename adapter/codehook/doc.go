// Package codehook is Patchbay's side of the hooks that other coding agents have: Claude Code,
// Codex, Gemini CLI, Copilot CLI, Qwen Code, Cursor and OpenCode. An agent starts a program at some
// moments and hands it an event; what the program prints, and its exit code, decide what the agent
// does next. No two agents agree on the format.
//
// [Parse] reads an event, [Moment.Fire] fires the points that it stands for and puts what the
// plugins made of it into the agent's own words. Plugins see one vocabulary: the names and
// arguments of the built-in tools.
//
// # An event
//
//	Parse                        parse.go       what is it, of whom, about what
//	  unwrap                     opencode.go    OpenCode's line
//	  lookup                     tables.go      its kind, and the points it stands for
//	  readCall                   vocabulary.go  the tool call, in our words
//	  foreign, empty                            is anybody to be asked?
//	Moment.Fire                  fire.go
//	  firing.run                 moments.go     one function a kind: what plugins want (a wish)
//	    call.back                vocabulary.go  a rewritten call, in the agent's words
//	  within                     within.go      as far as the agent can, by the table of ways
//	  encode                     encode.go      one encoder an agent: claude.go, codex.go, …
//
// What an agent can do, and what becomes of what it cannot, stands in tables.go;
// docs/hosts/README.md shows the tables.
//
// The package starts no process, opens no socket and keeps nothing. Whoever calls it has the
// plugins.
package codehook
