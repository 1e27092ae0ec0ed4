// Package mcp is an MCP server that offers the tools of plugins, and the prompts and resources of
// the MCP servers among them, to any MCP client. It speaks every revision of the protocol, over
// pipes and over HTTP.
//
// It calls tools as the agent does: a call goes through tool.before, tool.resolve and tool.after.
// If an MCP server answers the call, its messages for the client (progress, log, questions) go
// through an mcpcall.Caller in the call's context.
//
//	New                    makes a server with what the host offers now
//	  Server.sync          updates it when plugins change                        sync.go
//	Server.Run             serves one client, over pipes                         mcp.go
//	Server.Handler         serves many, over HTTP, with and without sessions     http.go
//	  Server.callTool      runs one call, through adapter.ToolCall               calls.go
//	  Server.ask           prompts/get, resources/read, …
//	    caller             describes the client to the server behind the plugin  caller.go
package mcp
