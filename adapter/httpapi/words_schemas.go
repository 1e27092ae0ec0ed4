package httpapi

import (
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// describeBodies describes requests and answers by the descriptions of their schemas. It corrects
// the schemas that occur only in answers; those of requests are left as they are, because requests
// are checked against them.
func describeBodies(doc *huma.OpenAPI) {
	schemas := doc.Components.Schemas.Map()
	for name, text := range schemaWords() {
		if s := schemas[name]; s != nil && s.Description == "" {
			s.Description = text
		}
	}
	asked := make(map[string]bool)
	for op := range operations(doc) {
		if op.RequestBody != nil {
			op.RequestBody.Description = bodyWords(op.RequestBody.Content, schemas)
			addReferred(asked, op.RequestBody.Content["application/json"].Schema, schemas)
		}
		describeAnswers(op, schemas)
	}
	for name, s := range schemas {
		if !asked[name] {
			s.AdditionalProperties = nil // a later version may add fields to answers
			setNullable(s, doc.Components.Schemas.TypeFromRef(schemaPrefix+name))
		}
	}
	addTypes(schemas)
}

// addReferred adds the names of the schemas to which a schema refers, directly or through others.
func addReferred(names map[string]bool, s *huma.Schema, schemas map[string]*huma.Schema) {
	if s == nil || s.Ref != "" && names[refName(s)] {
		return
	}
	if s.Ref != "" {
		names[refName(s)] = true
		s = schemas[refName(s)]
	}
	addReferred(names, s.Items, schemas)
	for _, p := range s.Properties {
		addReferred(names, p, schemas)
	}
}

// addTypes adds types to the fields of answers whose JSON passes through unread.
func addTypes(schemas map[string]*huma.Schema) {
	for _, at := range [][2]string{{"Tool", "parameters"}, {"PipelinePoint", "sample"}, {"SourceDetail", "metadata"}, {"SourceLoaded", "metadata"}} {
		if s := schemas[at[0]]; s != nil {
			s.Properties[at[1]].Type, s.Properties[at[1]].AdditionalProperties = huma.TypeObject, true
		}
	}
	if s := schemas["Step"]; s != nil {
		s.Properties["diff"].Type = huma.TypeArray
		s.Properties["diff"].Items = &huma.Schema{Type: huma.TypeObject, Required: []string{"path"}, Properties: map[string]*huma.Schema{
			"path": {Type: huma.TypeString, Description: "A JSON pointer.", Examples: []any{"/message"}},
			"old":  {Description: "The old value; absent if there was none.", Examples: []any{"hello"}},
			"new":  {Description: "The new value; absent if there is none.", Examples: []any{"HELLO"}},
		}}
	}
}

func describeAnswers(op *huma.Operation, schemas map[string]*huma.Schema) {
	for status, r := range op.Responses {
		code, err := strconv.Atoi(status)
		if text := statusWords()[code]; err == nil && text != "" {
			r.Description = text
		} else if text := bodyWords(r.Content, schemas); status == "200" && text != "" {
			r.Description = text
		}
		for kind, content := range r.Content {
			if content.Schema == nil {
				content.Schema = &huma.Schema{Type: huma.TypeString, Description: "Text."}
				if strings.HasSuffix(kind, "json") {
					content.Schema = &huma.Schema{Type: huma.TypeObject, Description: "An OpenAPI document.", AdditionalProperties: true}
				}
			}
			if content.Schema.Type == huma.TypeArray {
				content.Schema.Nullable = false
			}
		}
	}
}

// bodyWords returns the description of a body's schema, or of its items' schema.
func bodyWords(content map[string]*huma.MediaType, schemas map[string]*huma.Schema) string {
	var text string
	for _, kind := range []string{"text/plain", "application/openapi+json", "text/event-stream", recordingKind, "application/json"} {
		c := content[kind]
		switch {
		case c == nil:
		case c.Schema == nil:
			text = map[string]string{"text/plain": "The metrics.", "application/openapi+json": "The document."}[kind]
		case c.Schema.Type == huma.TypeArray:
			text = "A list. Each: " + schemas[refName(c.Schema.Items)].Description
		case c.Schema.Ref != "":
			text = schemas[refName(c.Schema)].Description
		default:
			text = c.Schema.Description
		}
	}
	return text
}

func refName(s *huma.Schema) string {
	return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
}

// setNullable corrects two assumptions of huma about the fields of a type: that every list may be
// null, and that no object may be. In answers, a list may be null only if it has the tag nullable.
// An object may be null only if its field is a pointer without omitempty or omitzero.
func setNullable(s *huma.Schema, t reflect.Type) {
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		p := s.Properties[name]
		switch {
		case p == nil:
		case p.Ref != "" && f.Type.Kind() == reflect.Pointer && options == "":
			p.AnyOf = []*huma.Schema{{Ref: p.Ref}, {Type: "null"}}
			p.Ref = ""
		case p.Type == huma.TypeArray:
			p.Nullable = f.Tag.Get("nullable") == "true"
		case p.Type == huma.TypeObject:
			if list, ok := p.AdditionalProperties.(*huma.Schema); ok && list.Type == huma.TypeArray {
				list.Nullable = false
			}
		}
	}
}

// statusWords says what the statuses of errors mean here.
func statusWords() map[int]string {
	return map[int]string{
		http.StatusBadRequest:            "The request is malformed: the detail says where.",
		http.StatusUnauthorized:          "The token is missing or wrong.",
		http.StatusForbidden:             "The request comes from a web page of another site or from inside a Patchbay sandbox, or names a host that is not allowed.",
		http.StatusNotFound:              "Nothing has that name.",
		http.StatusRequestTimeout:        "The body did not arrive in time.",
		http.StatusConflict:              "The request is not possible in the present state: the detail says why.",
		http.StatusRequestEntityTooLarge: "The body is too large.",
		http.StatusUnsupportedMediaType:  "The body is not application/json.",
		http.StatusUnprocessableEntity:   "A value is not allowed: the detail says where.",
		http.StatusInternalServerError:   "An error in the daemon; its log has more.",
		http.StatusNotImplemented:        "This daemon uses another version of the protocol.",
		http.StatusBadGateway:            "The plugin answered with an error, or did not follow its protocol.",
		http.StatusServiceUnavailable:    "The request is not possible at the moment: the detail says why.",
		http.StatusGatewayTimeout:        "The plugin did not answer in time.",
		http.StatusInsufficientStorage:   "Nothing can be written: the disk is full.",
	}
}

// schemaWords describes each kind of object. Requests and answers of that kind have the same
// description.
func schemaWords() map[string]string {
	return map[string]string{
		"AllReloaded": "Everything was reloaded.", "Attempt": "One attempt of a run.", "CommandDoc": "A command of a plugin.",
		"Compaction": "How a conversation was made shorter.", "ConfigChange": "One change of the configuration.",
		"ConfigChangesBody": "The changes, and whether to make them or only to show them.", "ConfigResult": "The change of the file, or for a preview the change that would be made.",
		"Connectable": "A plugin whose hooks can be connected to points.", "ConnectableHook": "A hook, and the points to which it can be connected.",
		"DaemonAgents": "How many scheduled agents there are.", "DaemonNextRun": "The run that is due next.", "DaemonPlugins": "How many plugins there are.",
		"DaemonStatus": "The daemon: its process, its addresses, its plugins and agents.", "Deleted": "What was deleted.",
		"Doctor": "Errors, warnings and remarks.", "EngineDamage": "Damage that was found in the stored data.", "EngineHealth": "The health of the store of sessions, traces and runs.",
		"Entry": "An entry of a transcript.", "Feature": "A flag that switches a part of the daemon.", "FileProblem": "An error in a file, and its place.",
		"Finding": "An error, a warning or a remark.", "FindingAction": "A request that fixes it.", "FireBody": "The event.",
		"Health": "The health of the daemon.", "HookAnswer": "What the hook has to print, and its exit code.", "HookRequest": "The event of another agent.",
		"Interrupted": "Whether a turn was interrupted.", "JobInfo": "A schedule of an agent, and how its runs went.", "JobRun": "A run of an agent.",
		"Knob": "A setting of a plugin that a person may change.", "KnobChange": "What setting a knob changed.", "KnobSettingBody": "The value, and where to write it.",
		"Latencies": "How long the last calls of each plugin took.", "LogLine": "A line of a plugin's log.", "Message": "A message of a conversation.",
		"MessageBody": "The message.", "MethodCallBody": "The method, and its parameters.", "MethodResult": "What a method answered.",
		"Notification": "A notification of a plugin.", "Outcome": "The outcome of an event, and what each plugin did to it.", "OutputLine": "A line that a run printed.",
		"Pipeline": "The points at which plugins are called.", "PipelineHook": "A hook of a plugin at a point.", "PipelinePoint": "A point at which plugins are called.",
		"Plugin": "A plugin at a glance.", "PluginCapability": "A capability of a plugin, and whether it is enforced.",
		"PluginChange": "A file of a plugin that has changed since it was recorded.", "PluginCounters": "Counters of a plugin since the daemon started.",
		"PluginDenial": "Something that a plugin's sandbox refused.", "PluginDetail": "Everything about a plugin.", "PluginLock": "The entry of a plugin in patchbay.lock.",
		"PluginLog": "The last lines that a plugin wrote to stderr.", "PluginManifest": "The file in which a plugin describes itself.",
		"PluginMount": "A file or directory that a plugin sees.", "PluginWire": "A hook of a plugin, and the point at which it is called.",
		"Problem": "An error.", "ReloadFailure": "Why a reload failed.", "Reloaded": "The result of reloading a plugin's config.",
		"RunPage": "A page of runs.", "Session": "A conversation.", "SessionCreateBody": "The new session; every field is optional.",
		"SessionUpdateBody": "What to change.", "SourceCheck": "Whether the code can be parsed, and where it cannot.", "SourceDetail": "A Python plugin with its source.",
		"SourceDraftBody": "The code.", "SourceItem": "A Python plugin.", "SourceList": "The Python plugins.", "SourceLoaded": "A Python plugin as it was loaded.",
		"SourceSaved": "Where the plugin was saved.", "SourceTextBody": "The plugin's name and code.", "StartJobBody": "Which schedule to run; every field is optional.",
		"Step": "One plugin's part in an event.", "TelemetryCount": "How many spans were exported.", "TokenUsage": "The tokens that a turn used.",
		"Tool": "A tool of a plugin.", "ToolCall": "A tool call that the model wants.", "ToolCallBody": "The arguments of the tool.", "ToolResult": "What a tool answered.",
		"ToolUse": "A tool call of a turn, and its answer.", "TracePage": "A page of events that went through plugins.",
		"TraceView": "An event that went through plugins.", "TurnPage": "A page of turns.", "TurnResult": "The result of a turn.", "TurnView": "A turn at a glance.",
		"YieldRequest": "The daemon that asks for the place.", "Yielded": "Whether the daemon gives up its place.",
	}
}
