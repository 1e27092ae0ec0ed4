package httpapi

import (
	"encoding/json"
	"time"
)

// The types below are only for the OpenAPI document, like those of shapes.go.

// A Plugin is a plugin in a list. The type is exported, because huma leaves out embedded types that
// are not.
type Plugin struct {
	_           struct{} `additionalProperties:"true"`
	Name        string   `json:"name" doc:"The name under which it is shown and called." example:"words"`
	Dialect     string   `json:"dialect" doc:"Its protocol." example:"scaffold"`
	Version     string   `json:"version" doc:"Its version; empty if it declares none." example:"1.2.0"`
	Description string   `json:"description" doc:"Its description." example:"counts words"`
	Path        string   `json:"path" doc:"Its file or directory." example:"/home/mira/.local/scaffold/plugins/words.py"`
	Project     string   `json:"project" doc:"The root of the project that it belongs to; empty if it is the user's own." example:""`
	State       string   `json:"state" enum:"ready,broken,disabled,skipped,unsupported" doc:"Whether it works." example:"ready"`
	Hooks       []string `json:"hooks" doc:"Its hooks, by their names in the dialect." example:"[\"preprocess_prompt\"]"`
	Tools       []string `json:"tools" doc:"The full names of its tools." example:"[\"plugin_words_count\"]"`
	Commands    []string `json:"commands" doc:"Its own commands." example:"[\"words\"]"`
	Methods     []string `json:"methods" doc:"Its own methods." example:"[\"notes.count\"]"`
	Kinds       []string `json:"kinds" doc:"Its kinds, if it is a dotagent plugin." example:"[\"sink\"]"`
	Priority    int      `json:"priority" doc:"Its place in the order in which plugins are called at a point." example:"500"`
	Pid         *int     `json:"pid" doc:"Its process id; null if it has no process now." example:"22188"`
	Error       *string  `json:"error" doc:"Why it is not ready, or why it last died; null if there is no error." example:"it ended with exit code 3"`
	Health      string   `json:"health" doc:"The health of its process: ok, restarting, failing, unknown if it was not asked, or a word of its dialect. Without a process, its state." example:"ok"`
	Trust       string   `json:"trust" doc:"Whether its files are as recorded in patchbay.lock; empty if it has no files to record." example:"trusted"`
}

type pluginDetail struct {
	_ struct{} `additionalProperties:"true"`
	Plugin
	Author       string             `json:"author" doc:"Its author; may be empty." example:"Mira Okonkwo"`
	License      string             `json:"license" doc:"Its license; may be empty." example:"MIT"`
	Homepage     string             `json:"homepage" doc:"Its homepage; may be empty." example:"https://example.org/words"`
	Protocol     string             `json:"protocol_version" doc:"The version of its dialect's protocol; empty if it declares none." example:"1"`
	Enabled      bool               `json:"enabled" doc:"Whether the configuration enables it." example:"true"`
	Wiring       []pluginWire       `json:"wiring" doc:"Its hooks, in the order of the points."`
	Manifest     *pluginManifest    `json:"manifest" doc:"The file in which it describes itself; null if its dialect has none."`
	ConfigSchema json.RawMessage    `json:"config_schema" doc:"JSON Schema of its config; null if it declares none." example:"{\"type\":\"object\",\"properties\":{\"level\":{\"type\":\"integer\"}}}"`
	Config       map[string]any     `json:"config" doc:"Its config in force. A secret is shown as …" example:"{\"level\":3,\"api_key\":\"…\"}"`
	ConfigUser   map[string]any     `json:"config_user" doc:"The part of its config that is in config.toml. A change of the configuration replaces this part." example:"{\"level\":3,\"api_key\":\"…\"}"`
	ConfigFrom   map[string]string  `json:"config_from" doc:"Where each value in config comes from: user (config.toml) or project." example:"{\"level\":\"user\",\"api_key\":\"user\"}"`
	ConfigFiles  []string           `json:"config_files" doc:"The files with config for it. Values of later files replace those of earlier ones." example:"[\"/home/mira/.config/patchbay/config.toml\"]"`
	Knobs        []knob             `json:"knobs" doc:"Its settings that a person may change."`
	Capabilities []pluginCapability `json:"capabilities" doc:"The capabilities that it declares."`
	Mounts       []pluginMount      `json:"mounts" doc:"The files that it really sees; empty if it is not confined, or was not started yet."`
	Denials      []pluginDenial     `json:"denials" doc:"What its sandbox refused, up to 50 different things, the oldest first."`
	Counters     pluginCounters     `json:"counters" doc:"Counters since the daemon started."`
	RecentUS     []uint32           `json:"recent_us" doc:"How many microseconds its last calls took, up to 64, the oldest first." example:"[412,388,1024]"`
	CommandDocs  []commandDoc       `json:"command_docs" doc:"The descriptions of its commands."`

	Notifications []notification `json:"notifications" doc:"Its last notifications, up to 100, the oldest first."`
	Lock          pluginLock     `json:"lock" doc:"Its entry in patchbay.lock."`
	Problems      []fileProblem  `json:"problems" doc:"Errors in its files."`
	Warnings      []fileProblem  `json:"warnings" doc:"Warnings about its files."`
}

type pluginWire struct {
	Hook      string `json:"hook" doc:"The hook, by its name in the dialect." example:"preprocess_prompt"`
	Point     string `json:"point" doc:"The point at which it is called." example:"turn.input"`
	Mode      string `json:"mode" enum:"chain,first,gate,notify" doc:"The point's mode." example:"chain"`
	Priority  int    `json:"priority" doc:"Its place in the order of the point." example:"500"`
	Connected bool   `json:"connected" doc:"Connected by the configuration, not by the plugin." example:"false"`
	For       string `json:"for" doc:"What it is limited to, such as a pattern of commands; empty: no limit." example:"git *"`
	OwnMode   string `json:"own_mode" doc:"The mode in the words of its protocol; may be empty." example:"transform"`
	TimeoutMS int64  `json:"timeout_ms" doc:"The time limit of a call, in milliseconds." example:"5000"`
}

type pluginManifest struct {
	Path string `json:"path" doc:"The file." example:"/home/mira/.local/share/kaged/plugins/notes/manifest.yaml"`
	Text string `json:"text" doc:"Its present text, without secrets; cut after 64 KiB." example:"name: notes\nversion: 1.0.0\n"`
}

type pluginCapability struct {
	Capability string `json:"capability" doc:"The capability, in the words of its dialect." example:"net:example.org:443"`
	Status     string `json:"status" enum:"enforced,partial,not_enforced" doc:"Whether the sandbox enforces it." example:"enforced"`
	Reason     string `json:"reason" doc:"How it is enforced, or why it is not; may be empty." example:"by a network namespace"`
}

type pluginMount struct {
	Path    string `json:"path" doc:"A file, or a directory with everything below it." example:"/usr"`
	Access  string `json:"access" enum:"read,execute,write,missing" doc:"execute and write include read; missing may be read, but does not exist." example:"execute"`
	Because string `json:"because" doc:"The capability that grants it, or what it is." example:"system"`
}

type pluginDenial struct {
	Time   time.Time `json:"time" doc:"When it last happened." example:"2026-11-16T06:00:19Z"`
	What   string    `json:"what" doc:"What it tried." example:"connection to 192.0.2.7:443"`
	Detail string    `json:"detail" doc:"The capability that would have allowed it; may be empty." example:"net:192.0.2.7:443"`
	Count  int       `json:"count" doc:"How often." example:"3"`
}

type pluginCounters struct {
	Calls                int64 `json:"calls" doc:"Calls that have ended." example:"128"`
	Errors               int64 `json:"errors" doc:"Calls that failed." example:"2"`
	Timeouts             int64 `json:"timeouts" doc:"Calls that took too long." example:"1"`
	Restarts             int   `json:"restarts" doc:"How often its process was started again." example:"1"`
	Notifications        int64 `json:"notifications" doc:"Notifications that it sent." example:"7"`
	NotificationsDropped int64 `json:"notifications_dropped" doc:"Notifications that came too fast, or are not declared." example:"0"`
}

type commandDoc struct {
	_           struct{} `additionalProperties:"true"`
	Name        string   `json:"name" doc:"The command." example:"words"`
	Args        string   `json:"args" doc:"Its arguments, as in a line of help." example:"[--lines]"`
	Description string   `json:"description" doc:"What it does." example:"counts the words of its input"`
}

type notification struct {
	Time     time.Time       `json:"time" doc:"When it came." example:"2026-11-16T06:00:19Z"`
	Method   string          `json:"method" doc:"Its name." example:"notes.asked"`
	Params   json.RawMessage `json:"params" doc:"Its parameters; if they are long, their beginning as text." example:"{\"n\":1}"`
	Declared bool            `json:"declared" doc:"The manifest declares it." example:"true"`
}

type pluginLock struct {
	_            struct{}   `additionalProperties:"true"`
	File         string     `json:"file" doc:"The lock." example:"/home/mira/.config/patchbay/patchbay.lock"`
	Recorded     *time.Time `json:"recorded" doc:"When it was recorded; null if it was not." example:"2026-11-16T06:00:19Z"`
	Source       string     `json:"source" doc:"The source of the plugin; may be empty." example:"https://example.org/words.git"`
	Ref          string     `json:"ref" doc:"The branch or tag; may be empty." example:"v1.2.0"`
	Commit       string     `json:"commit" doc:"The commit; may be empty." example:"1f2e3d4c5b6a"`
	Capabilities []string   `json:"capabilities" doc:"The granted capabilities." example:"[\"net:example.org:443\"]"`
	Withheld     []string   `json:"withheld" doc:"Declared capabilities that are not granted." example:"[\"exec:git\"]"`

	Changes []pluginChange `json:"changes" doc:"Its files that have changed since they were recorded."`
}

type pluginChange struct {
	Path string `json:"path" doc:"The file." example:"words.py"`
	Kind string `json:"kind" enum:"added,removed,changed" doc:"What has changed." example:"changed"`
}

type fileProblem struct {
	Path    string `json:"path" doc:"The file." example:"/home/mira/.local/share/kaged/plugins/notes/manifest.yaml"`
	Line    int    `json:"line" doc:"From 1; 0 if it is about the whole file." example:"3"`
	Column  int    `json:"column" doc:"From 1; 0 if it is about the whole file." example:"11"`
	Message string `json:"message" doc:"What is wrong." example:"unknown key vresion"`
	Fix     string `json:"fix,omitempty" doc:"How to fix it, if that is known." example:"did you mean version?"`
}

type knob struct {
	_           struct{}          `additionalProperties:"true"`
	Key         string            `json:"key" doc:"The key under which it is set." example:"level"`
	Type        string            `json:"type" enum:"range,int_range,enum,boolean,text,multiline,model_alias,path" doc:"The kind of control." example:"int_range"`
	Label       string            `json:"label" doc:"A label for people." example:"Level"`
	Description string            `json:"description" doc:"What it does; may be empty." example:"how much is told"`
	BindsTo     string            `json:"binds_to" doc:"The value in the config that it sets." example:"config.level"`
	Min         *float64          `json:"min" doc:"The smallest value; null if there is none." example:"0"`
	Max         *float64          `json:"max" doc:"The largest value; null if there is none." example:"9"`
	Step        *float64          `json:"step" doc:"The step between values; null if there is none." example:"1"`
	Values      []json.RawMessage `json:"values" doc:"The values of an enum: strings, numbers or booleans." example:"[\"fast\",\"slow\"]"`
	Labels      []string          `json:"labels" doc:"One for each of the values, or none." example:"[\"Fast\",\"Slowly\"]"`
	Prefixes    []string          `json:"prefixes,omitempty" doc:"For a path: the allowed beginnings. Absent if every path is allowed." example:"[\"/srv\"]"`
	MaxLength   *int              `json:"max_length" doc:"The largest length of a text; null if there is none." example:"200"`
	Value       json.RawMessage   `json:"value" doc:"Its present value; null if it has none. A secret is shown as …" example:"3"`
	Source      string            `json:"source" doc:"default, user or project; empty if it has no value." example:"user"`
	Default     json.RawMessage   `json:"default" doc:"Its default; null if there is none." example:"1"`
}
