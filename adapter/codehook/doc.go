// Package codehook translates the hooks of other coding agents: Claude Code, Codex, Gemini CLI,
// Copilot CLI, Qwen Code, Cursor and OpenCode. At certain moments such an agent starts a program
// and passes it an event. The output and the exit code of the program decide what the agent does
// next. Each agent has its own format.
//
// [Parse] reads an event. [Moment.Fire] fires the points that belong to it, and encodes the result
// in the agent's format. Plugins see one vocabulary: the names and arguments of the built-in tools.
//
// The package starts no process, opens no socket and stores nothing. Its caller has the plugins.
//
// # An event
//
//	Parse                        parse.go       which event it is, and its fields
//	  unwrap                     opencode.go    takes the event out of OpenCode's line
//	  lookup                     tables.go      its kind, and the points that belong to it
//	  readCall                   vocabulary.go  the tool call, in our names
//	  foreign, empty             parse.go       events about which no plugin is called
//	Moment.Fire                  fire.go
//	  firing.run                 fire.go        calls the function of the kind, in moments.go; the result is a wish
//	    call.toAgents            vocabulary.go  a rewritten call, in the agent's names
//	  within                     within.go      reduces the wish to what the agent can do
//	  encode                     encode.go      one encoder an agent: claude.go, codex.go, …
//
// The tables of what each agent can do are in tables.go, and shown in docs/hosts/README.md.
package codehook
