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

// The protocol's figures.
const (
	// protocolVersion: seed 001, "protocol_version": "1.0.0".
	protocolVersion = "1.0.0"
	// transformTimeout and notifyTimeout: seed 001, the table of timeouts.
	transformTimeout = 5 * time.Second
	notifyTimeout    = 30 * time.Second
	// lifecycleTimeout bounds what nobody waits for. The seed names no figure; it is the shorter of
	// its others.
	lifecycleTimeout = 5 * time.Second
	// mostStdout bounds a reply. The seed names no limit; a context is as long as the result in it,
	// and a terminal shows no more than this.
	mostStdout = 4 << 20
)

// manifestFile and programPrefix: the rulings, "mine-plugin.toml beside the entrypoint",
// "entrypoint (default mine-plugin-<name>)".
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

// The four stages of seed 001, which are also the names of the hooks.
const (
	stagePrevalidate = "prevalidate"
	stagePreexec     = "preexec"
	stagePostexec    = "postexec"
	stageNotify      = "notify"
)

// stages are all of them, in the order in which a command meets them.
var stages = []string{stagePrevalidate, stagePreexec, stagePostexec, stageNotify}

// The two modes.
const (
	modeTransform = "transform"
	modeNotify    = "notify"
)

// modeOf is the one mode a stage can have: "The notify stage needs notify mode and the reverse".
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

// A hookContext is the protocol's Context object.
type hookContext struct {
	command   string
	args      []string
	flags     hook.Object // each value a JSON string: "context.flags maps string to string"
	result    json.RawMessage
	timestamp string
}

func (c *hookContext) object() hook.Object {
	return hook.Object{
		{Name: "command", Value: rawjson.String(c.command)},
		{Name: "args", Value: list(c.args)},
		{Name: "flags", Value: c.flags.JSON()},
		{Name: "result", Value: dialect.OrNull(c.result)}, // "null until there is one"
		{Name: "timestamp", Value: rawjson.String(c.timestamp)},
	}
}

// The rulings: "Key order: protocol_version, type, stage, mode, event, command, context, args,
// flags; args and flags absent where empty".

func hookCall(stage string, c *hookContext) json.RawMessage {
	return invocation(typeHook,
		hook.Field{Name: "stage", Value: rawjson.String(stage)},
		hook.Field{Name: "mode", Value: rawjson.String(modeOf(stage))},
		hook.Field{Name: "context", Value: c.object().JSON()})
}

// commandCall: seed 001, "The flags field is not populated for command invocations".
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

// list is a JSON list of strings, [] where there are none.
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

// An errorObject is the protocol's way to say what went wrong.
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

// outdated reports whether the plugin refuses this version of the protocol, as seed 001's own
// example does with "unsupported protocol version".
func (e *errorObject) outdated() bool {
	text := strings.ReplaceAll(strings.ToLower(e.message+" "+e.code), "_", " ")
	return strings.Contains(text, "protocol") && strings.Contains(text, "version") &&
		(strings.Contains(text, "unsupported") || strings.Contains(text, "not supported"))
}

// parseError reads an error object: seed 001, {"status": "error", "error": …, "code": …}.
func parseError(o hook.Object) *errorObject {
	message, _ := o.String("error")
	code, _ := o.String("code")
	if status, ok := o.String("status"); ok && status != statusError || message == "" && code == "" {
		return nil
	}
	return &errorObject{message: cut(message), code: cut(code)}
}

// changes are the fields of the context that a plugin answered with; what is nil it did not
// mention.
type changes struct {
	command *string
	args    []string
	flags   hook.Object
	result  json.RawMessage
}

// parseReply reads a transform's stdout. The rulings: "status:"error" with exit 0 is an error too.
// A reply without context leaves it unchanged, as does empty stdout." Nil: unchanged.
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
		return nil, garbled("parse error: its answer is no JSON object: %q", cut(string(stdout)))
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
	return parseContext(o.Get("context"))
}

func parseContext(raw json.RawMessage) (*changes, error) {
	if dialect.Missing(raw) {
		return nil, nil
	}
	o, err := rawjson.Parse(raw)
	if err != nil {
		return nil, garbled("parse error: context is not an object: %q", cut(string(raw)))
	}
	c := &changes{result: o.Get("result")}
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

// parseArgs: null is what some languages write for an empty list.
func parseArgs(raw json.RawMessage) ([]string, error) {
	if raw == nil {
		return nil, nil
	}
	var args []string
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, garbled("parse error: context.args is not a list of strings: %q", cut(string(raw)))
	}
	return append([]string{}, args...), nil // empty is not nil here
}

// parseFlags takes a value that is no string for its text: dynamic languages make no difference.
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

// cut keeps a foreign text from filling the screen.
func cut(s string) string {
	return excerpt.Of(s, 500) // an error message fits
}
