package httpapi

import (
	"encoding/json"
	"time"
)

// The types below are for the OpenAPI document alone, as those of shapes.go are.

// A Plugin is a plugin at a glance. Its name is exported, since huma leaves out what is embedded
// otherwise.
type Plugin struct {
	_           struct{} `additionalProperties:"true"`
	Name        string   `json:"name" doc:"By which it is shown and called." example:"words"`
	Dialect     string   `json:"dialect" doc:"Its protocol." example:"scaffold"`
	Version     string   `json:"version" doc:"Its own; empty where it does not say." example:"1.2.0"`
	Description string   `json:"description" doc:"What it says of itself." example:"counts words"`
	Path        string   `json:"path" doc:"Its file or directory." example:"/home/mira/.local/scaffold/plugins/words.py"`
	Project     string   `json:"project" doc:"The root of the project that brings it along; empty where it is the user's own." example:""`
	State       string   `json:"state" enum:"ready,broken,disabled,skipped,unsupported" doc:"Whether it works." example:"ready"`
	Hooks       []string `json:"hooks" doc:"The dialect's own names." example:"[\"preprocess_prompt\"]"`
	Tools       []string `json:"tools" doc:"The full names of its tools." example:"[\"plugin_words_count\"]"`
	Commands    []string `json:"commands" doc:"Its own commands." example:"[\"words\"]"`
	Methods     []string `json:"methods" doc:"Its own methods." example:"[\"notes.count\"]"`
	Kinds       []string `json:"kinds" doc:"What kinds of dotagent plugin it is." example:"[\"sink\"]"`
	Priority    int      `json:"priority" doc:"The order in which plugins are asked at a point." example:"500"`
	Pid         *int     `json:"pid" doc:"Its process; null where it has none now." example:"22188"`
	Error       *string  `json:"error" doc:"Why it is not ready, or why it last died; null where nothing is wrong." example:"it ended with exit code 3"`
	Health      string   `json:"health" doc:"How its process is: ok, restarting, failing, unknown where nobody has asked, or its dialect's own word; its state where it has none." example:"ok"`
	Trust       string   `json:"trust" doc:"How its files stand to patchbay.lock; empty where it has none that could be recorded." example:"trusted"`
}

type pluginDetail struct {
	_ struct{} `additionalProperties:"true"`
	Plugin
	Author       string             `json:"author" doc:"Who made it; may be empty." example:"Mira Okonkwo"`
	License      string             `json:"license" doc:"On what terms; may be empty." example:"MIT"`
	Homepage     string             `json:"homepage" doc:"Where there is more about it; may be empty." example:"https://example.org/words"`
	Protocol     string             `json:"protocol_version" doc:"Of its dialect's protocol; empty where it does not say." example:"1"`
	Enabled      bool               `json:"enabled" doc:"By the configuration." example:"true"`
	Wiring       []pluginWire       `json:"wiring" doc:"Its hooks, in the order of the points."`
	Manifest     *pluginManifest    `json:"manifest" doc:"The file in which it describes itself; null where its dialect has none."`
	ConfigSchema json.RawMessage    `json:"config_schema" doc:"JSON Schema of its config; null where it declares none." example:"{\"type\":\"object\",\"properties\":{\"level\":{\"type\":\"integer\"}}}"`
	Config       map[string]any     `json:"config" doc:"Its config that is in force. A secret is shown as …" example:"{\"level\":3,\"api_key\":\"…\"}"`
	ConfigUser   map[string]any     `json:"config_user" doc:"The part of it that stands in config.toml, and that a change of the configuration replaces." example:"{\"level\":3,\"api_key\":\"…\"}"`
	ConfigFrom   map[string]string  `json:"config_from" doc:"Where each value in config comes from: user (config.toml) or project." example:"{\"level\":\"user\",\"api_key\":\"user\"}"`
	ConfigFiles  []string           `json:"config_files" doc:"The files that have config for it; of two values the later file's counts." example:"[\"/home/mira/.config/patchbay/config.toml\"]"`
	Knobs        []knob             `json:"knobs" doc:"Settings that a person may turn."`
	Capabilities []pluginCapability `json:"capabilities" doc:"What it declares it needs."`
	Mounts       []pluginMount      `json:"mounts" doc:"What it really sees of the file system; empty where it is not confined, or was not started yet."`
	Denials      []pluginDenial     `json:"denials" doc:"What its sandbox refused it, up to 50 different things, oldest first."`
	Counters     pluginCounters     `json:"counters" doc:"What happened to it since the daemon began."`
	RecentUS     []uint32           `json:"recent_us" doc:"How many microseconds its last calls took, up to 64, oldest first." example:"[412,388,1024]"`
	CommandDocs  []commandDoc       `json:"command_docs" doc:"What it says of its commands."`

	Notifications []notification `json:"notifications" doc:"What it last said unasked, up to 100, oldest first."`
	Lock          pluginLock     `json:"lock" doc:"What patchbay.lock records of it."`
	Problems      []fileProblem  `json:"problems" doc:"What is wrong with its files."`
	Warnings      []fileProblem  `json:"warnings" doc:"What is odd about its files."`
}

type pluginWire struct {
	Hook      string `json:"hook" doc:"The hook, by its dialect's name." example:"preprocess_prompt"`
	Point     string `json:"point" doc:"Where it is asked." example:"turn.input"`
	Mode      string `json:"mode" enum:"chain,first,gate,notify" doc:"The point's mode." example:"chain"`
	Priority  int    `json:"priority" doc:"Its place in the order of the point." example:"500"`
	Connected bool   `json:"connected" doc:"Wired by the configuration, not natively." example:"false"`
	For       string `json:"for" doc:"What it is for, such as a pattern of commands; empty for everything." example:"git *"`
	OwnMode   string `json:"own_mode" doc:"How its protocol calls what it does; may be empty." example:"transform"`
	TimeoutMS int64  `json:"timeout_ms" doc:"How long it may take." example:"5000"`
}

type pluginManifest struct {
	Path string `json:"path" doc:"The file." example:"/home/mira/.local/share/kaged/plugins/notes/manifest.yaml"`
	Text string `json:"text" doc:"What is in it now, without secrets; cut after 64 KiB." example:"name: notes\nversion: 1.0.0\n"`
}

type pluginCapability struct {
	Capability string `json:"capability" doc:"In its dialect's words." example:"net:example.org:443"`
	Status     string `json:"status" enum:"enforced,partial,not_enforced" doc:"Whether the system holds it to that." example:"enforced"`
	Reason     string `json:"reason" doc:"Why it is not enforced, or how; may be empty." example:"by a network namespace"`
}

type pluginMount struct {
	Path    string `json:"path" doc:"A file or directory, with all below it." example:"/usr"`
	Access  string `json:"access" enum:"read,execute,write" doc:"The last two include the first." example:"execute"`
	Because string `json:"because" doc:"A capability, or what it is." example:"system"`
}

type pluginDenial struct {
	Time   time.Time `json:"time" doc:"The last time." example:"2026-11-16T06:00:19Z"`
	What   string    `json:"what" doc:"What it tried." example:"connection to 192.0.2.7:443"`
	Detail string    `json:"detail" doc:"The capability that would have allowed it; may be empty." example:"net:192.0.2.7:443"`
	Count  int       `json:"count" doc:"How often." example:"3"`
}

type pluginCounters struct {
	Calls                int64 `json:"calls" doc:"Calls that are over." example:"128"`
	Errors               int64 `json:"errors" doc:"Those that failed." example:"2"`
	Timeouts             int64 `json:"timeouts" doc:"Those that took too long." example:"1"`
	Restarts             int   `json:"restarts" doc:"How often its process was started again." example:"1"`
	Notifications        int64 `json:"notifications" doc:"What it said unasked." example:"7"`
	NotificationsDropped int64 `json:"notifications_dropped" doc:"Notifications that came too fast, or were not announced." example:"0"`
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
	Params   json.RawMessage `json:"params" doc:"What it says; of long ones the beginning, as a text." example:"{\"n\":1}"`
	Declared bool            `json:"declared" doc:"The manifest announces it." example:"true"`
}

type pluginLock struct {
	_            struct{}   `additionalProperties:"true"`
	File         string     `json:"file" doc:"The lock." example:"/home/mira/.config/patchbay/patchbay.lock"`
	Recorded     *time.Time `json:"recorded" doc:"When it was recorded; null where it was not." example:"2026-11-16T06:00:19Z"`
	Source       string     `json:"source" doc:"Where it came from; may be empty." example:"https://example.org/words.git"`
	Ref          string     `json:"ref" doc:"The branch or tag; may be empty." example:"v1.2.0"`
	Commit       string     `json:"commit" doc:"The commit; may be empty." example:"1f2e3d4c5b6a"`
	Capabilities []string   `json:"capabilities" doc:"What was granted." example:"[\"net:example.org:443\"]"`
	Withheld     []string   `json:"withheld" doc:"What it declares and was not granted." example:"[\"exec:git\"]"`

	Changes []pluginChange `json:"changes" doc:"Its files that are not as they were recorded."`
}

type pluginChange struct {
	Path string `json:"path" doc:"The file." example:"words.py"`
	Kind string `json:"kind" enum:"added,removed,changed" doc:"What became of it." example:"changed"`
}

type fileProblem struct {
	Path    string `json:"path" doc:"The file." example:"/home/mira/.local/share/kaged/plugins/notes/manifest.yaml"`
	Line    int    `json:"line" doc:"From 1; 0 where it is about the whole file." example:"3"`
	Column  int    `json:"column" doc:"From 1; 0 where it is about the whole file." example:"11"`
	Message string `json:"message" doc:"What is wrong." example:"unknown key vresion"`
	Fix     string `json:"fix,omitempty" doc:"How to fix it, where that is known." example:"did you mean version?"`
}

type knob struct {
	_           struct{}          `additionalProperties:"true"`
	Key         string            `json:"key" doc:"By which it is set." example:"level"`
	Type        string            `json:"type" enum:"range,int_range,enum,boolean,text,multiline,model_alias,path" doc:"Which control it is." example:"int_range"`
	Label       string            `json:"label" doc:"For a person to read." example:"Level"`
	Description string            `json:"description" doc:"What it does; may be empty." example:"how much is told"`
	BindsTo     string            `json:"binds_to" doc:"The value of the config that it sets." example:"config.level"`
	Min         *float64          `json:"min" doc:"The least; null where there is none." example:"0"`
	Max         *float64          `json:"max" doc:"The most; null where there is none." example:"9"`
	Step        *float64          `json:"step" doc:"From one value to the next; null where there is none." example:"1"`
	Values      []json.RawMessage `json:"values" doc:"Of an enum: strings, numbers or booleans." example:"[\"fast\",\"slow\"]"`
	Labels      []string          `json:"labels" doc:"One for each of the values, or none." example:"[\"Fast\",\"Slowly\"]"`
	Prefixes    []string          `json:"prefixes,omitempty" doc:"Of a path: it begins with one of them. Absent where it may begin with anything." example:"[\"/srv\"]"`
	MaxLength   *int              `json:"max_length" doc:"Of a text; null where there is none." example:"200"`
	Value       json.RawMessage   `json:"value" doc:"How it stands; null where it has no value. A secret is shown as …" example:"3"`
	Source      string            `json:"source" doc:"default, user or project; empty where it has no value." example:"user"`
	Default     json.RawMessage   `json:"default" doc:"Its value where no file has one; null where there is none." example:"1"`
}
