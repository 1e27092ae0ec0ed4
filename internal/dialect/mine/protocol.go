package mine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/rawjson"
)

const (
	// protocolVersion is the version that is sent: docs/protocols/mine.md, row M33.
	protocolVersion = "1.0.0"
	// transformTimeout and notifyTimeout are those of docs/protocols/mine.md, row M41.
	transformTimeout = 5 * time.Second
	notifyTimeout    = 30 * time.Second
	// lifecycleTimeout is that of docs/protocols/mine.md, row M12.
	lifecycleTimeout = 5 * time.Second
	// mostStdout limits a reply. The protocol has no limit. A context is about as long as the
	// result in it, and the results that people read at a terminal are shorter than this limit.
	mostStdout = 4 << 20
)

// manifestFile and programPrefix are the names of a plugin's files. The manifest may name another
// program.
const (
	manifestFile  = "mine-plugin.toml"
	programPrefix = "mine-plugin-"
)

// The types of invocation.
const (
	typeHook      = "hook"
	typeCommand   = "command"
	typeLifecycle = "lifecycle"
)

// The four stages, which are also the names of the hooks: docs/protocols/mine.md, row M32.
const (
	stagePrevalidate = "prevalidate"
	stagePreexec     = "preexec"
	stagePostexec    = "postexec"
	stageNotify      = "notify"
)

// stages lists all stages, in the order of a command.
var stages = []string{stagePrevalidate, stagePreexec, stagePostexec, stageNotify}

// The two modes.
const (
	modeTransform = "transform"
	modeNotify    = "notify"
)

// modeOf returns the only mode that a stage can have: docs/protocols/mine.md, row M26.
func modeOf(stage string) string {
	if stage == stageNotify {
		return modeNotify
	}
	return modeTransform
}

// The lifecycle events.
const (
	eventInit     = "init"
	eventShutdown = "shutdown"
	eventHealth   = "health"
)

const (
	statusOK    = "ok"
	statusError = "error"
)

// A hookContext is the object context of the protocol.
type hookContext struct {
	command   string
	args      []string
	flags     hook.Object // each value is a JSON string: docs/protocols/mine.md, row M34
	result    json.RawMessage
	timestamp string
}

func (c *hookContext) object() hook.Object {
	return hook.Object{
		{Name: "command", Value: rawjson.String(c.command)},
		{Name: "args", Value: list(c.args)},
		{Name: "flags", Value: c.flags.JSON()},
		{Name: "result", Value: dialect.OrNull(c.result)}, // null until there is a result: docs/protocols/mine.md, row M34
		{Name: "timestamp", Value: rawjson.String(c.timestamp)},
	}
}

// hookCall returns the message of a hook, with its keys in the order of docs/protocols/mine.md, row
// M33.
func hookCall(stage string, c *hookContext) json.RawMessage {
	return invocation(typeHook,
		hook.Field{Name: "stage", Value: rawjson.String(stage)},
		hook.Field{Name: "mode", Value: rawjson.String(modeOf(stage))},
		hook.Field{Name: "context", Value: c.object().JSON()})
}

// commandCall returns the message of a command. It has no flags: docs/protocols/mine.md, row M50.
func commandCall(name string, args []string) json.RawMessage {
	fields := []hook.Field{{Name: "command", Value: rawjson.String(name)}}
	if len(args) > 0 {
		fields = append(fields, hook.Field{Name: "args", Value: list(args)})
	}
	return invocation(typeCommand, fields...)
}

func lifecycleCall(event string) json.RawMessage {
	return invocation(typeLifecycle, hook.Field{Name: "event", Value: rawjson.String(event)})
}

func invocation(kind string, fields ...hook.Field) json.RawMessage {
	return append(hook.Object{
		{Name: "protocol_version", Value: rawjson.String(protocolVersion)},
		{Name: "type", Value: rawjson.String(kind)},
	}, fields...).JSON()
}

// list returns a JSON list of strings.
func list(items []string) json.RawMessage {
	out := json.RawMessage("[")
	for i, item := range items {
		if i > 0 {
			out = append(out, ',')
		}
		out = rawjson.AppendString(out, item)
	}
	return append(out, ']')
}

// An errorObject is an error as plugins report it.
type errorObject struct {
	message string
	code    string
}

func (e *errorObject) Error() string {
	if e.code == "" {
		return e.message
	}
	return e.message + " (" + e.code + ")"
}

// outdated reports whether the plugin refuses this version of the protocol. It looks for words,
// because plugins phrase it differently.
func (e *errorObject) outdated() bool {
	text := strings.ReplaceAll(strings.ToLower(e.message+" "+e.code), "_", " ")
	return strings.Contains(text, "protocol") && strings.Contains(text, "version") &&
		(strings.Contains(text, "unsupported") || strings.Contains(text, "not supported"))
}

// parseError reads an error object: docs/protocols/mine.md, row M8. It returns nil if o is not one.
func parseError(o hook.Object) *errorObject {
	message, _ := o.String("error")
	code, _ := o.String("code")
	if status, ok := o.String("status"); ok && status != statusError || message == "" && code == "" {
		return nil
	}
	return &errorObject{message: cut(message), code: cut(code)}
}

// changes are the fields of the context in a plugin's reply; a nil field was not in the reply.
type changes struct {
	command *string
	args    []string
	flags   hook.Object
	result  json.RawMessage
	notes   []string // what the reply has that the protocol does not know
}

// parseReply reads the stdout of a transform hook: docs/protocols/mine.md, rows M36 and M47. It
// returns nil if there is no reply.
func parseReply(stdout []byte) (*changes, error) {
	stdout = bytes.TrimSpace(stdout)
	if len(stdout) == 0 {
		return nil, nil
	}
	o, err := rawjson.ParseWithin(stdout, rawjson.MaxForeign)
	if deep, ok := errors.AsType[*rawjson.DepthError](err); ok {
		return nil, garbled("parse error: %v", deep)
	}
	if err != nil {
		return nil, garbled("parse error: its answer is not a JSON object: %q", cut(string(stdout)))
	}
	switch status, _ := o.String("status"); {
	case status == statusError:
		if said := parseError(o); said != nil {
			return nil, hook.Failure(hook.Refused, said)
		}
		return nil, hook.Failure(hook.Refused, errors.New("it answered with an error and gave no reason"))
	case status != statusOK && o.Get("status") != nil:
		return nil, garbled("parse error: status is neither ok nor error: %s", cut(string(o.Get("status"))))
	}
	c, err := parseContext(o.Get("context"))
	if err == nil {
		c.noteAnswer(o)
	}
	return c, err
}

func parseContext(raw json.RawMessage) (*changes, error) {
	c := &changes{}
	if dialect.Missing(raw) {
		return c, nil
	}
	o, err := rawjson.Parse(raw)
	if err != nil {
		return nil, garbled("parse error: context is not an object: %q", cut(string(raw)))
	}
	c.notes = append(c.notes, dialect.UnknownFields("context", o, contextFields)...)
	c.result = o.Get("result")
	if v := o.Get("command"); !dialect.Missing(v) {
		command, ok := rawjson.Unquote(v)
		if !ok {
			return nil, garbled("parse error: context.command is not a string: %q", cut(string(v)))
		}
		c.command = &command
	}
	if c.args, err = parseArgs(o.Get("args")); err != nil {
		return nil, err
	}
	c.flags, err = parseFlags(o.Get("flags"))
	return c, err
}

// parseArgs reads a list of strings. Some languages write null for an empty list.
func parseArgs(raw json.RawMessage) ([]string, error) {
	if raw == nil {
		return nil, nil
	}
	var args []string
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, garbled("parse error: context.args is not a list of strings: %q", cut(string(raw)))
	}
	return append([]string{}, args...), nil // empty, but not nil
}

// parseFlags reads an object and turns values that are not strings into strings, because plugins in
// dynamic languages mix up the types.
func parseFlags(raw json.RawMessage) (hook.Object, error) {
	switch {
	case raw == nil:
		return nil, nil
	case dialect.Missing(raw):
		return hook.Object{}, nil
	}
	o, err := rawjson.Parse(raw)
	if err != nil {
		return nil, garbled("parse error: context.flags is not an object: %q", cut(string(raw)))
	}
	return flatten(o), nil
}

func garbled(format string, args ...any) error {
	return hook.Failure(hook.Garbled, fmt.Errorf(format, args...))
}

// flatten makes every value of an object a string, as flags are on a command line.
func flatten(o hook.Object) hook.Object {
	flat := make(hook.Object, len(o))
	for i, f := range o {
		flat[i] = hook.Field{Name: f.Name, Value: dialect.AsText(f.Value)}
	}
	return flat
}

// cut shortens text of a plugin for messages.
func cut(s string) string {
	return excerpt.Of(s, 500) // room for an error message
}
