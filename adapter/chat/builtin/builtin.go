package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/secretenv"
)

// Options are what the tools need from the program. The zero value gives the tools that need
// nothing.
type Options struct {
	// Procs starts the commands of shell; nil: there is no shell tool. The caller closes it.
	Procs *proc.Group

	// Environ is the environment of commands, as "NAME=value". Patchbay's own variables and the
	// keys of model providers are removed from it. Nil is an empty environment, not the host's.
	Environ []string

	// HTTP says how fetch connects: the proxy, certificates and limits of its Transport apply. Its
	// Jar and CheckRedirect are not used. If its Transport is an *http.Transport, a copy dials with
	// our checks; any other Transport must refuse addresses itself. Nil: as http.DefaultTransport.
	HTTP *http.Client

	Logger *slog.Logger // nil: no log
}

// Tools returns the built-in tools in the order in which they are listed. They are safe for
// concurrent use by many sessions.
func Tools(o Options) []chat.Tool {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
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

// A spec describes a tool to the model.
type spec struct {
	name        string
	description string
	parameters  string // JSON Schema; its properties are A's fields
	changes     bool
}

// tool makes a tool of a function that takes decoded arguments. The function returns the text for
// the model. Its error fails the call, and the model reads it too, unless it is a *[hostError].
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
