package httpapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// describeBodies says what requests and answers are, with the words of their schemas, and which
// lists may be null.
func describeBodies(doc *huma.OpenAPI) {
	schemas := doc.Components.Schemas.Map()
	for name, text := range schemaWords() {
		if s := schemas[name]; s != nil && s.Description == "" {
			s.Description = text
		}
	}
	asked := make(map[string]bool) // by name, the schemas of requests: what they allow is checked, and stays
	for op := range operations(doc) {
		if op.RequestBody != nil {
			op.RequestBody.Description = bodyWords(op.RequestBody.Content, schemas)
			asked[refName(op.RequestBody.Content["application/json"].Schema)] = true
		}
		describeAnswers(op, schemas)
	}
	for name, s := range schemas {
		for field, p := range s.Properties {
			tellNull(name+"."+field, p, asked[name])
		}
	}
	tellTypes(schemas)
}

// tellTypes says what JSON is that passes through as it is. Requests are left alone: they are
// checked by the schemas of theirs.
func tellTypes(schemas map[string]*huma.Schema) {
	for _, at := range [][2]string{{"Tool", "parameters"}, {"PipelinePoint", "sample"}, {"SourceDetail", "metadata"}, {"SourceLoaded", "metadata"}} {
		if s := schemas[at[0]]; s != nil {
			s.Properties[at[1]].Type, s.Properties[at[1]].AdditionalProperties = huma.TypeObject, true
		}
	}
	if s := schemas["Step"]; s != nil {
		s.Properties["diff"].Type = huma.TypeArray
		s.Properties["diff"].Items = &huma.Schema{Type: huma.TypeObject, Required: []string{"path"}, Properties: map[string]*huma.Schema{
			"path": {Type: huma.TypeString, Description: "A JSON pointer.", Examples: []any{"/message"}},
			"old":  {Description: "What was there; absent where nothing was.", Examples: []any{"hello"}},
			"new":  {Description: "What is there now; absent where nothing is.", Examples: []any{"HELLO"}},
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

// bodyWords is what a body's schema says of itself, or its items' schema.
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

// tellNull corrects what huma takes for granted: that any list may be null, and nothing that has a
// schema of its own. A schema is asked where requests are checked against it.
func tellNull(name string, p *huma.Schema, asked bool) {
	switch null := mayBeNull[name]; {
	case null && p.Ref != "":
		p.AnyOf = []*huma.Schema{{Ref: p.Ref}, {Type: "null"}}
		p.Ref = ""
	case p.Type == huma.TypeArray && !asked:
		p.Nullable = null
	case p.Type == huma.TypeObject && !asked:
		if list, ok := p.AdditionalProperties.(*huma.Schema); ok && list.Type == huma.TypeArray {
			list.Nullable = false
		}
	}
}

// mayBeNull are the lists and objects in answers that are null where there is nothing. Others are
// empty, or absent.
var mayBeNull = map[string]bool{
	"Compaction.messages": true, "JobInfo.last_run": true, "JobRun.attempts": true, "Knob.labels": true, "Knob.values": true,
	"PluginDetail.manifest": true,
}

// statusWords say what the statuses of errors mean here.
func statusWords() map[int]string {
	return map[int]string{
		http.StatusBadRequest:            "The request is malformed: its detail says where.",
		http.StatusUnauthorized:          "The token is missing or wrong.",
		http.StatusForbidden:             "The request comes from a web page of another site, or names a host that is not allowed.",
		http.StatusNotFound:              "There is nothing of that name.",
		http.StatusRequestTimeout:        "The body did not come in time.",
		http.StatusConflict:              "It cannot be done as things stand now: its detail says why.",
		http.StatusRequestEntityTooLarge: "The body is too large.",
		http.StatusUnsupportedMediaType:  "The body is not application/json.",
		http.StatusUnprocessableEntity:   "A value is not allowed: its detail names the place.",
		http.StatusInternalServerError:   "Something went wrong in the daemon; its log has more.",
		http.StatusNotImplemented:        "This daemon is of another version.",
		http.StatusBadGateway:            "The plugin answered with an error, or not as its protocol says.",
		http.StatusServiceUnavailable:    "It cannot be done for the moment: its detail says why.",
		http.StatusGatewayTimeout:        "The plugin did not answer in time.",
		http.StatusInsufficientStorage:   "Nothing can be written: the disk is full.",
	}
}

// schemaWords say what each kind of object is. Requests and answers that are made of it are
// described in the same words.
func schemaWords() map[string]string {
	return map[string]string{
		"AllReloaded": "Everything was read again.", "Attempt": "One attempt of a run.", "CommandDoc": "A command of a plugin.",
		"Compaction": "How a conversation was made shorter.", "ConfigChange": "One change of the configuration.",
		"ConfigChangesBody": "The changes, and whether to make them or only to show them.", "ConfigResult": "What changed in the file, or would.",
		"Connectable": "A plugin whose hooks can be connected to points.", "ConnectableHook": "A hook, and where it can be connected.",
		"DaemonAgents": "How many scheduled agents there are.", "DaemonNextRun": "The run that is due next.", "DaemonPlugins": "How many plugins there are.",
		"DaemonStatus": "The daemon: its process, where it listens, what it has loaded.", "Deleted": "What was deleted.",
		"Doctor": "What is wrong, or could be better.", "EngineDamage": "Damage that was found in what is kept.", "EngineHealth": "How the store of sessions, traces and runs is.",
		"Entry": "An entry of a transcript.", "Feature": "A flag that switches a part of the daemon.", "FileProblem": "What is wrong with a file, and where.",
		"Finding": "One thing that is wrong, or could be better.", "FindingAction": "A request that mends it.", "FireBody": "The event.",
		"Health": "How the daemon is.", "HookAnswer": "What the hook is to print, and its exit code.", "HookRequest": "The event of another agent.",
		"Interrupted": "Whether a turn was interrupted.", "JobInfo": "A schedule of an agent, and how its runs went.", "JobRun": "A run of an agent.",
		"Knob": "A setting of a plugin that a person may turn.", "KnobChange": "What setting a knob changed.", "KnobSettingBody": "The value, and where to write it.",
		"Latencies": "How long the last calls of each plugin took.", "LogLine": "A line of a plugin's log.", "Message": "A message of a conversation.",
		"MessageBody": "The message.", "MethodCallBody": "The method, and what it is called with.", "MethodResult": "What a method answered.",
		"Notification": "Something that a plugin said unasked.", "Outcome": "What came of an event, and what each plugin did to it.", "OutputLine": "A line that a run printed.",
		"Pipeline": "The points at which plugins are asked.", "PipelineHook": "A plugin that is asked at a point.", "PipelinePoint": "A point at which plugins are asked.",
		"Plugin": "A plugin at a glance.", "PluginCapability": "Something that a plugin needs, and whether it is held to it.",
		"PluginChange": "A file of a plugin that is not as it was recorded.", "PluginCounters": "What happened to a plugin since the daemon began.",
		"PluginDenial": "Something that a plugin's sandbox refused.", "PluginDetail": "All there is to know about a plugin.", "PluginLock": "What patchbay.lock records of a plugin.",
		"PluginLog": "The last lines that a plugin wrote to stderr.", "PluginManifest": "The file in which a plugin describes itself.",
		"PluginMount": "A file or directory that a plugin sees.", "PluginWire": "A hook of a plugin, and the point at which it is asked.",
		"Problem": "An error.", "ReloadFailure": "Why the configuration was not read again.", "Reloaded": "What became of a plugin whose config was read again.",
		"RunPage": "A page of runs.", "Session": "A conversation.", "SessionCreateBody": "The new session; all of it may be left out.",
		"SessionUpdateBody": "What to change.", "SourceCheck": "Whether the code can be parsed, and where it cannot.", "SourceDetail": "A Python plugin with its source.",
		"SourceDraftBody": "The code.", "SourceItem": "A Python plugin.", "SourceList": "The Python plugins.", "SourceLoaded": "A Python plugin as it was loaded.",
		"SourceSaved": "Where the plugin was saved.", "SourceTextBody": "The plugin's name and code.", "StartJobBody": "Which schedule to run; all of it may be left out.",
		"Step": "One plugin's part in an event.", "TelemetryCount": "How many spans were exported.", "TokenUsage": "How many tokens a turn took.",
		"Tool": "A tool of a plugin.", "ToolCall": "A tool call that the model wants.", "ToolCallBody": "What the tool is called with.", "ToolResult": "What a tool answered.",
		"ToolUse": "A tool call of a turn, and its answer.", "TracePage": "A page of events that went through plugins.",
		"TraceView": "An event that went through plugins.", "TurnPage": "A page of turns.", "TurnResult": "What came of a message.", "TurnView": "A turn at a glance.",
		"YieldRequest": "Who asks the daemon to make room.", "Yielded": "Whether it does.",
	}
}
