// Package codehook is Patchbay's side of the hooks that other coding agents
// have: Claude Code, Codex, Gemini CLI, Copilot CLI, Qwen Code, Cursor and
// OpenCode. An agent starts a program at some moments and hands it an event; what
// the program prints, and its exit code, decide what the agent does next. No two
// agents agree on the format.
//
// [Parse] reads an event, [Moment.Fire] fires the points that it stands for and
// puts what the plugins made of it into the agent's own words. Plugins see one
// vocabulary: the names and arguments of the built-in tools.
//
// The package starts no process, opens no socket and keeps nothing. Whoever calls
// it has the plugins.
package codehook
