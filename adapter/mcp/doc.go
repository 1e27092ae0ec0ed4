// Package mcp offers what plugins have to any MCP client: their tools, and the prompts and
// resources of the MCP servers among them. It speaks every revision of the protocol, over pipes and
// over HTTP.
//
// It is a host like the agent: a call of a tool goes through tool.before, tool.resolve and
// tool.after. What a client has to do with a call that an MCP server answers (progress, log,
// questions) travels in the call's context, as an mcpcall.Caller.
//
//	New                    a server with what the host has now
//	  Server.sync          when plugins come, go or change              sync.go
//	Server.Run             one client, over pipes                       mcp.go
//	Server.Handler         many clients, over HTTP: both kinds of the protocol at one address    http.go
//	  tool.call            one call: adapter.ToolCall                   calls.go
//	  server.ask           prompts/get, resources/read, …
//	    caller             who asks, for the server behind              caller.go
package mcp
