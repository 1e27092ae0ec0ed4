package builtin

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/secretenv"
)

// Options are what the tools need of their host. The zero value gives the tools that need nothing.
type Options struct {
	// Procs starts the shell's commands; nil: there is no shell tool. It belongs to the caller, who
	// closes it.
	Procs *proc.Group

	// Environ is what commands may see, as "NAME=value". Patchbay's own variables and the keys of
	// model providers are taken out of it. Nil is an empty environment, not the host's.
	Environ []string

	// HTTP says how fetch connects: its Transport's proxy, certificates and limits are kept. Its
	// Jar and CheckRedirect are not used, and of its Transport, where that is an *http.Transport, a
	// copy dials with our checks. Any other Transport has to refuse addresses by itself. Nil: as
	// http.DefaultTransport.
	HTTP *http.Client

	Logger *slog.Logger // nil discards
}

// Tools are the built-in tools, in the order in which they are listed. They are safe for concurrent
// use by many sessions.
func Tools(o Options) []chat.Tool {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	fs := &files{log: o.Logger}
	web := newFetcher(o.HTTP)
	tools := []chat.Tool{
		tool(spec{name: "read_file", description: readDescription, parameters: readParameters}, fs.read),
		tool(spec{name: "write_file", description: writeDescription, parameters: writeParameters, changes: true}, fs.write),
		tool(spec{name: "edit_file", description: editDescription, parameters: editParameters, changes: true}, fs.edit),
		tool(spec{name: "list_files", description: listDescription, parameters: listParameters}, fs.list),
		tool(spec{name: "fetch", description: fetchDescription, parameters: fetchParameters}, web.fetch),
	}
	if o.Procs == nil {
		return tools
	}
	sh := &shell{procs: o.Procs, environ: secretenv.Without(o.Environ), log: o.Logger}
	first := tool(spec{name: "shell", description: shellDescription, parameters: shellParameters, changes: true}, sh.run)
	return append([]chat.Tool{first}, tools...)
}

// A spec is what a model is told about a tool.
type spec struct {
	name        string
	description string
	parameters  string // JSON Schema; its properties are A's fields
	changes     bool
}

// tool makes a tool of a function that takes its arguments decoded. The function returns what the
// model is to read. Its error fails the call and is read as well, unless it is a *[hostError].
func tool[A any](s spec, run func(ctx context.Context, call chat.Call, args A) (string, error)) chat.Tool {
	return chat.Tool{
		Name:        s.name,
		Description: s.description,
		Parameters:  json.RawMessage(s.parameters),
		Changes:     s.changes,
		Run: func(ctx context.Context, call chat.Call) (chat.ToolResult, error) {
			var args A
			if err := decode(call.Arguments, s.parameters, &args); err != nil {
				return result("", err)
			}
			return result(run(ctx, call, args))
		},
	}
}
