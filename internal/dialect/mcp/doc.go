// Package mcp makes plugins of MCP servers: docs/protocols/mcp.md. A server is a program that is
// started and spoken to over its pipes, or an address that is called over HTTP. Its tools, prompts
// and resources are the plugin's; it has no hooks.
//
// A server may speak the revisions with a handshake, the modern revision without sessions, or both.
// The package finds out with server/discover. For a client with a handshake that can be asked
// questions (elicitation, sampling), the package opens a connection with a handshake, if the server
// speaks such a revision.
//
//	Found                     one [[mcp]] table                                mcp.go
//	Dialect.Open
//	  plugin.open             the connection, then the lists                   plugin.go
//	    pipes                 a process, which proc.Keep restarts              pipe.go
//	      negotiate           server/discover, else initialize                 handshake.go
//	    address               an address, connected again if it was lost       web.go
//	plugin.CallTool           tools/call                                       calls.go
//	plugin.CallMethod         prompts/get, resources/read, …
//	  link.call               one request, with a token for its progress       link.go
//	plugin.receiveNotification, asked   progress, log, changed lists, questions   incoming.go
//
// The package is the client. The MCP server, for clients of Patchbay, is package adapter/mcp.
package mcp
