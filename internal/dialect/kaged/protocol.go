package kaged

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// The methods of the protocol, and the prefixes of hooks and of the plugin's requests. A plugin
// must not declare methods that begin with kaged., so these names are never ambiguous.
const (
	methodInitialize  = "initialize"
	methodInitialized = "initialized"
	methodShutdown    = "shutdown"
	methodHealth      = "health.check"

	hookPrefix    = "kaged.hook."
	storagePrefix = "kaged.storage."
)

// apiVersion is the version of the plugin API that this host speaks.
const apiVersion = 1

// maxMessage is the limit of docs/protocols/kaged.md, row K78. The protocol says 4 MB; 4 MiB allows
// either way of counting.
const maxMessage = 4 << 20

// notifyRate is the limit per second of docs/protocols/kaged.md, row K79.
const notifyRate = 100

const (
	handshakeTimeout = 10 * time.Second // docs/protocols/kaged.md, row K4; an interpreter on a cold disk needs seconds
	healthTimeout    = 5 * time.Second  // docs/protocols/kaged.md, row K82
	callTimeout      = 60 * time.Second // for tools and methods: docs/protocols/kaged.md, row K76
	termGrace        = 2 * time.Second  // from SIGTERM to SIGKILL
	// stdinGrace is the shortest time between the end of stdin and SIGTERM. A plugin that did not
	// answer shutdown may still exit when its stdin ends.
	stdinGrace = 500 * time.Millisecond
)

// The error codes of answers to a plugin's requests. The first two are JSON-RPC's; the others are
// from its range for servers.
const (
	codeNoMethod  = -32601
	codeBadParams = -32602
	codeStorage   = -32000
	codeDenied    = -32001
)

var emptyObject = json.RawMessage("{}")

// hello holds the params of initialize.
type hello struct {
	daemonVersion    string
	pluginName       string
	storageAvailable bool
	projects         []string        // their ids
	config           json.RawMessage // an object, or nil
	systemConfig     json.RawMessage // the same with secrets; must never be logged
}

// params returns the params of initialize, in the order of docs/protocols/kaged.md, row K50.
func (h *hello) params() json.RawMessage {
	return rawjson.Object{
		field("daemon_version", rawjson.String(h.daemonVersion)),
		field("api_version", fmt.Appendf(nil, "%d", apiVersion)),
		field("plugin_name", rawjson.String(h.pluginName)),
		field("storage_available", fmt.Appendf(nil, "%t", h.storageAvailable)),
		field("projects", stringList(h.projects)),
		field("config", orEmpty(h.config)),
		field("system_config", orEmpty(h.systemConfig)),
	}.JSON()
}

func stringList(texts []string) json.RawMessage {
	list := []byte{'['}
	for i, text := range texts {
		if i > 0 {
			list = append(list, ',')
		}
		list = rawjson.AppendString(list, text)
	}
	return append(list, ']')
}

// callContext is the `_context` in the params of a tool or a hook: docs/protocols/kaged.md, row
// K70.
type callContext struct {
	operatorID, projectID, sessionID, projectRoot string
	requestID                                     [16]byte // sent as hexadecimal digits; it is unique, not secret
}

const contextField = "_context"

// beside returns an object as JSON, with the context as its last field, or in place of a field of
// that name. It is called for every hook and tool, so it allocates once.
func (c *callContext) beside(o rawjson.Object) json.RawMessage {
	if o.Get(contextField) != nil {
		return o.With(field(contextField, c.append(nil))).JSON()
	}
	room := c.room() + len(`{"_context":}`)
	for _, f := range o {
		room += len(f.Name) + len(f.Value) + len(`"":,`)
	}
	out := o.Append(make([]byte, 0, room))
	out = out[:len(out)-1] // the closing brace
	if len(o) > 0 {
		out = append(out, ',')
	}
	out = append(out, `"`+contextField+`":`...)
	return append(c.append(out), '}')
}

// room returns the length of the context if no character needs an escape.
func (c *callContext) room() int {
	return len(`{"operator_id":"","project_id":"","agent_path":"","session_id":"","request_id":"","project_root":""}`) +
		len(agentPath) + 2*len(c.requestID) + len(c.operatorID) + len(c.projectID) + len(c.sessionID) + len(c.projectRoot)
}

func (c *callContext) append(out []byte) []byte {
	out = rawjson.AppendString(append(out, `{"operator_id":`...), c.operatorID)
	out = rawjson.AppendString(append(out, `,"project_id":`...), c.projectID)
	out = rawjson.AppendString(append(out, `,"agent_path":`...), agentPath)
	out = rawjson.AppendString(append(out, `,"session_id":`...), c.sessionID)
	out = hex.AppendEncode(append(out, `,"request_id":"`...), c.requestID[:])
	out = rawjson.AppendString(append(out, `","project_root":`...), c.projectRoot)
	return append(out, '}')
}

// A welcome is a plugin's answer to initialize: docs/protocols/kaged.md, row K56.
type welcome struct {
	name, version    string
	apiVersion       json.RawMessage // nil: the plugin left it out
	methods          []string
	notifications    []string
	capabilitiesUsed []string
	odd              []string // what is wrong with fields of another type
	unread           []string // the names of these fields
}

func readWelcome(result json.RawMessage) (*welcome, error) {
	o, err := rawjson.Parse(result)
	if err != nil {
		return nil, hook.Failure(hook.Garbled, fmt.Errorf("initialize was answered with %s instead of an object", cut(result)))
	}
	w := &welcome{}
	w.read(o, "name", &w.name)
	w.read(o, "version", &w.version)
	w.read(o, "api_version", &w.apiVersion)
	w.read(o, "methods", &w.methods)
	w.read(o, "notifications", &w.notifications)
	w.read(o, "capabilities_used", &w.capabilitiesUsed)
	return w, nil
}

// read reads one field if it has the right type. A field of the wrong type is no reason to refuse
// the plugin, since only api_version matters.
func (w *welcome) read(o rawjson.Object, name string, into any) {
	value := o.Get(name)
	if rawjson.Missing(value) {
		return
	}
	if err := json.Unmarshal(value, into); err != nil {
		w.odd = append(w.odd, fmt.Sprintf("has the %s %s, which is not of the type that the protocol demands", name, cut(value)))
		w.unread = append(w.unread, name)
	}
}

// refusal returns an error if the plugin speaks another api_version: docs/protocols/kaged.md, row
// K57.
func (w *welcome) refusal() error {
	if w.apiVersion == nil {
		return nil
	}
	var version float64
	if err := json.Unmarshal(w.apiVersion, &version); err == nil && version == apiVersion {
		return nil
	}
	return hook.Failure(hook.Refused,
		fmt.Errorf("the plugin speaks api_version %s, this host %d", cut(w.apiVersion), apiVersion))
}

// differences lists where the answer and the manifest differ. They are warnings:
// docs/protocols/kaged.md, row K56. A list that is left out is empty. A plugin need not use every
// capability that it declares.
func (w *welcome) differences(m *Manifest) []string {
	out := slices.Clone(w.odd)
	if w.apiVersion == nil {
		out = append(out, fmt.Sprintf(`left out api_version: %d is assumed; answer "api_version": %d`, apiVersion, apiVersion))
	}
	for _, f := range []struct{ field, answer, manifest string }{{"name", w.name, m.Name}, {"version", w.version, m.Version}} {
		switch {
		case f.answer == f.manifest || slices.Contains(w.unread, f.field):
		case f.answer == "":
			out = append(out, fmt.Sprintf("left out %s, which is %q in the manifest", f.field, f.manifest))
		default:
			out = append(out, fmt.Sprintf("says its %s is %.64q, the manifest says %q", f.field, f.answer, f.manifest))
		}
	}
	given := func(name string, names []string) []string { // a list that could not be read has been reported
		if slices.Contains(w.unread, name) {
			return nil
		}
		return names
	}
	out = appendNames(out, "lacks methods that the manifest declares", given("methods", missing(m.Methods, w.methods)))
	out = appendNames(out, "has methods that the manifest does not declare", missing(w.methods, callable(m)))
	out = appendNames(out, "lacks notifications that the manifest declares", given("notifications", missing(m.Notifications, w.notifications)))
	out = appendNames(out, "has notifications that the manifest does not declare", missing(w.notifications, m.Notifications))
	out = appendNames(out, "uses capabilities that the manifest does not declare", missing(w.capabilitiesUsed, capabilityNames(m.Capabilities)))
	return out
}

// callable returns every name under which the plugin may be called. A plugin may list its tools
// among its methods.
func callable(m *Manifest) []string {
	names := slices.Clone(m.Methods)
	for _, t := range m.Tools {
		names = append(names, toolName(m, t))
	}
	return names
}

// toolName returns a tool's full name: docs/protocols/kaged.md, row K70.
func toolName(m *Manifest, t Tool) string { return m.Name + "." + t.Name }

func missing(want, have []string) []string {
	return slices.DeleteFunc(slices.Clone(want), func(s string) bool { return slices.Contains(have, s) })
}

// appendNames adds a line about some names. They come from the plugin, so few are shown and each is
// quoted.
func appendNames(out []string, what string, names []string) []string {
	if len(names) == 0 {
		return out
	}
	const most = 10
	more := ""
	if len(names) > most {
		names, more = names[:most], fmt.Sprintf(" and %d more", len(names)-most)
	}
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = fmt.Sprintf("%.64q", n)
	}
	return append(out, what+": "+strings.Join(quoted, ", ")+more)
}

// object parses an object; no value and null mean an empty one.
func object(raw json.RawMessage) (rawjson.Object, error) {
	if rawjson.Missing(raw) {
		return rawjson.Object{}, nil
	}
	return rawjson.Parse(raw)
}

// structure parses params, which may be an object or a list in JSON-RPC.
func structure(raw json.RawMessage) (json.RawMessage, error) {
	if rawjson.Missing(raw) {
		return emptyObject, nil
	}
	if err := rawjson.Check(raw); err != nil {
		return nil, err
	}
	compact := rawjson.Compact(raw)
	if compact[0] != '{' && compact[0] != '[' {
		return nil, errors.New("neither an object nor a list")
	}
	return compact, nil
}

func field(name string, value json.RawMessage) rawjson.Field {
	return rawjson.Field{Name: name, Value: value}
}

func orEmpty(v json.RawMessage) json.RawMessage {
	if rawjson.Missing(v) {
		return emptyObject
	}
	return rawjson.Compact(v)
}

// cut shortens JSON of a plugin for a message. The rest stays as the plugin wrote it, so that a
// string has quotes and a number has none. Only characters that cannot be printed are escaped,
// because a terminal could take them for commands.
func cut(v []byte) string {
	const most = 120
	quoted := strconv.Quote(excerpt.Of(v, most))
	return unescape.Replace(quoted[1 : len(quoted)-1])
}

// unescape undoes what strconv.Quote does to the characters that JSON itself uses.
var unescape = strings.NewReplacer(`\"`, `"`, `\\`, `\`)
