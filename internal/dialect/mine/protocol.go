package mine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/pattern"
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
	stated  bool // it has the status error
	bare    bool // it has no fields but an error and a code
}

func (e *errorObject) Error() string {
	if e.code == "" {
		return e.message
	}
	return e.message + " (" + e.code + ")"
}

// outdated reports whether the plugin refuses this version of the protocol: docs/protocols/mine.md,
// row M49. Only the sentence of the protocol counts. A guard may have a reason to refuse that
// merely contains these words, and its refusal must not be passed over.
func (e *errorObject) outdated() bool { return outdatedPattern.MatchString(e.message) }

// outdatedPattern is the sentence, alone or with a version or a remark after it.
var outdatedPattern = pattern.New(`^(?i:\s*unsupported protocol version(\s+["']?v?[0-9][0-9.]*["']?)?\s*($|[:;,.(]))`)

// repeatable reports whether an invocation has words of the sentence of [errorObject.outdated].
// Then the plugin may only have repeated them, as in "COMMAND: not allowed", and the sentence does
// not count. Otherwise the name of a command, which may come from a model, could switch a guard
// off.
func repeatable(sent json.RawMessage) bool {
	o, err := rawjson.Parse(sent)
	if err != nil {
		return true
	}
	for _, f := range o {
		if f.Name == "protocol_version" {
			continue
		}
		if text, err := json.Marshal(decoded(f.Value)); err != nil || outdatedWords.MatchString(string(text)) {
			return true
		}
	}
	return false
}

// decoded returns a value without escapes, so that every spelling of a word is found in it.
func decoded(v json.RawMessage) any {
	var out any
	if json.Unmarshal(v, &out) != nil {
		return string(v)
	}
	return out
}

// outdatedWords matches the words of the sentence that few commands have.
var outdatedWords = pattern.New(`(?i)supported|protocol`)

// parseError reads an error object: docs/protocols/mine.md, row M8. It returns nil if o is not one.
func parseError(o hook.Object) *errorObject {
	message, _ := o.String("error")
	code, _ := o.String("code")
	status, stated := o.String("status")
	if stated && status != statusError || message == "" && code == "" {
		return nil
	}
	bare := !slices.ContainsFunc(o, func(f hook.Field) bool { return f.Name != "error" && f.Name != "code" })
	return &errorObject{message: cut(message), code: cut(code), stated: stated, bare: bare}
}

// changes holds the fields of the context in a plugin's reply; a field that is nil was not in the
// reply.
type changes struct {
	command *string
	args    []string
	flags   hook.Object
	result  json.RawMessage
	nulls   []string // the fields that are null, in place of a value
	notes   []string // what the reply has that the protocol does not know
	ignored []string // those of the notes that are logged too: the reply may mean what it has no effect on
}

// parseReply reads the stdout of a transform hook: docs/protocols/mine.md, rows M36 and M47. It
// returns nil if there is no reply. If the context has a fault, it returns the error and the notes.
func parseReply(stdout []byte) (*changes, error) {
	stdout = bytes.TrimSpace(stdout)
	if len(stdout) == 0 {
		return nil, nil
	}
	o, err := parseForeign("its answer", stdout)
	if err != nil {
		return nil, err
	}
	switch status, _ := o.String("status"); {
	case status == statusError:
		if said := parseError(o); said != nil {
			return nil, hook.Failure(hook.Refused, said)
		}
		return nil, hook.Failure(hook.Refused, errors.New("it answered with an error and gave no reason"))
	case status != statusOK && o.Get("status") != nil:
		return nil, garbled("parse error: status is neither ok nor error: %s", cut(string(o.Get("status"))))
	case o.Get("status") == nil:
		if said := parseError(o); said != nil && said.message != "" {
			return nil, hook.Failure(hook.Refused, said)
		}
	}
	c, err := parseContext(o.Get("context"))
	c.noteAnswer(o)
	return c, err
}

// parseContext reads the context of a reply. If it has a fault, parseContext returns the error and
// what it read so far.
func parseContext(raw json.RawMessage) (*changes, error) {
	c := &changes{}
	if rawjson.Missing(raw) {
		return c, nil
	}
	o, err := parseForeign("context", raw)
	if err != nil {
		return c, err
	}
	c.noteUnknown("context", o, contextFields)
	for _, name := range changeable {
		if string(o.Get(name)) == "null" {
			c.nulls = append(c.nulls, name)
		}
	}
	c.result = o.Get("result")
	if v := o.Get("command"); !rawjson.Missing(v) {
		command, ok := rawjson.Unquote(v)
		if !ok {
			return c, garbled("parse error: context.command is not a string: %q", cut(string(v)))
		}
		c.command = &command
	}
	if c.args, err = parseArgs(o.Get("args")); err != nil {
		return c, err
	}
	c.flags, err = parseFlags(o.Get("flags"))
	return c, err
}

// parseArgs reads a list of strings. It returns nil if the list is missing.
func parseArgs(raw json.RawMessage) ([]string, error) {
	if rawjson.Missing(raw) {
		return nil, nil
	}
	var args []*string
	if err := json.Unmarshal(raw, &args); err != nil || slices.Contains(args, nil) {
		return nil, garbled("parse error: context.args is not a list of strings: %q", cut(string(raw)))
	}
	list := make([]string, len(args)) // may be empty, but not nil
	for i, arg := range args {
		list[i] = *arg
	}
	return list, nil
}

// parseFlags reads an object and turns values that are not strings into strings, because plugins in
// dynamic languages mix up the types. It returns nil if the object is missing.
func parseFlags(raw json.RawMessage) (hook.Object, error) {
	if rawjson.Missing(raw) {
		return nil, nil
	}
	o, err := parseForeign("context.flags", raw)
	if err != nil {
		return nil, err
	}
	for _, f := range o {
		if rawjson.Missing(f.Value) {
			return nil, garbled(`parse error: context.flags has null for %q: write "" for an empty value, or leave the flag out`, cut(f.Name))
		}
	}
	return flatten(o), nil
}

// parseForeign parses an object of a reply.
func parseForeign(what string, raw []byte) (hook.Object, error) {
	o, err := rawjson.ParseForeign(raw)
	if _, ok := errors.AsType[*rawjson.SyntaxError](err); ok {
		return nil, garbled("parse error: %s is not a JSON object: %q", what, cut(string(raw)))
	}
	if err != nil {
		return nil, garbled("parse error: %s: %v: %q", what, err, cut(string(raw)))
	}
	return o, nil
}

// check returns an error if the reply has no value where it must have one. null could mean an empty
// value or an unchanged one, and a host that guesses may run a command with the wrong arguments:
// docs/protocols/mine.md, row M65.
func (c *changes) check(t *translation, shown *hookContext) error {
	sent := shown.object()
	for _, name := range c.nulls {
		switch string(sent.Get(name)) {
		case "null", "[]", "{}": // so nothing is lost
		default:
			return garbled("parse error: context.%s is null: leave it out to keep it%s", name, emptyValues[name])
		}
	}
	if c.command != nil && *c.command == "" && shown.command != "" && t.renames() {
		return garbled(`parse error: context.command is "": leave it out to keep it`)
	}
	return c.keepResult(shown)
}

// emptyValues says how to write an empty value of each field that can have one.
var emptyValues = map[string]string{"args": ", or write [] for none", "flags": ", or write {} for none", "result": `, or write "" for no output`}

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
