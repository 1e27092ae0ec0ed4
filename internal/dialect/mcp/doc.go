// Package mcp makes plugins of MCP servers. A server is a program that is started and spoken to
// over its pipes, or an address that is called over HTTP. Its tools, prompts and resources are the
// plugin's; it has no hooks.
//
// A server may speak the revisions with a handshake, the one without sessions, or both. Which is
// found out by asking for server/discover first. A client of ours that can be asked questions
// (elicitation, sampling) and speaks the other kind gets a connection of its own kind, where the
// server has it: questions do not translate.
//
//	Found                     one [[mcp]] table                                mcp.go
//	Dialect.Open
//	  plugin.open             the connection, then the lists                   plugin.go
//	    pipe                  a process, kept alive: proc.Keep                 pipe.go
//	      greet               server/discover, else initialize                greet.go
//	    web                   an address, connected again where it was lost    web.go
//	plugin.CallTool           tools/call                                       calls.go
//	plugin.CallMethod         prompts/get, resources/read, …
//	  link.call               one request, with a token for its progress       link.go
//	what the server says      progress, log, lists that changed, questions     heard.go
package mcp
