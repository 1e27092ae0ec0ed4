package dialect

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/limits"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// A Dialect is one plugin-side protocol.
type Dialect interface {
	// Name returns the name that users know the protocol by, e.g. "scaffold".
	Name() string
	// Folders returns the directories that Find searches, to show users where to put a plugin.
	Folders(env Env) []Folder
	// Points returns the points at which the hooks of its plugins are called. The configuration can
	// connect a hook to other points.
	Points() []hook.Point
	// Find lists the plugins in the directories of this protocol, in the order in which the host
	// opens them. It starts no process. A directory that does not exist is not an error.
	Find(env Env) []Found
	// At returns the plugin at a path that a user named. ok is false if path is not a plugin of
	// this dialect. A plugin with a faulty manifest is returned with ok true and the state Broken.
	At(path string, env Env) (found Found, ok bool)
	// Open starts a plugin. It returns when the plugin is ready for calls; ctx bounds only that.
	Open(ctx context.Context, f Found, s Settings, rt *Runtime) (Plugin, error)
}

// A Folder is a directory that holds plugins of a dialect.
type Folder struct {
	Dialect string `json:"dialect"`
	Dir     string `json:"dir"`
	Form    string `json:"form"` // what a plugin looks like there, e.g. "NAME/manifest.yaml"
}

// A State says whether a plugin can be used.
type State string

// The states.
const (
	Ready       State = "ready"
	Broken      State = "broken"      // found, but cannot work; Err says why
	Disabled    State = "disabled"    // switched off in the configuration
	Skipped     State = "skipped"     // left out by a rule of its dialect
	Unsupported State = "unsupported" // not made for this operating system
)

// ErrUnsupported is wrapped by the error that Open returns for a plugin which is made for another
// operating system. Such a plugin is not broken.
var ErrUnsupported = errors.New("unsupported")

// Found is a plugin on disk.
type Found struct {
	Dialect  string
	Name     string    // the name that is known before the plugin runs
	Place    string    // the name of its file or directory, which only the person who installs it chooses
	Called   string    // the name that the plugin gives itself in its file; "": the file does not show one
	Path     string    // its file or directory, absolute
	Project  string    // the root of the project that the plugin belongs to; "": it belongs to the user
	State    State     // "": it may be opened; otherwise Err says why it may not
	Err      error     // why it is in this state
	Problems []Problem // all faults of its manifest
	Warnings []Problem // things that work differently from what its author may expect
	Misspelt []Problem // those of the Warnings that are about misspelt names. They are also logged, because a hook may be missing for this reason
	Info     *Info     // what it declares; nil: unknown until it is opened
	Partly   bool      // Info lacks hooks, tools or methods, because that part of the manifest cannot be read
	File     string    // its manifest, absolute; "": it has none, or none that can be read
	Sole     string    // a role that only one enabled plugin may have, e.g. "compactor"; "": no such role
	Manifest any       // the parsed manifest, of a type of the dialect
}

// A Problem is a fault in a plugin's files.
type Problem struct {
	Path    string `json:"path" doc:"The file." example:"/home/mira/.local/share/kaged/plugins/notes/manifest.yaml"`
	Line    int    `json:"line" doc:"From 1; 0 if it is about the whole file." example:"3"`
	Column  int    `json:"column" doc:"From 1; 0 if it is about the whole file." example:"11"`
	Message string `json:"message" doc:"What is wrong." example:"unknown key vresion"`
	Fix     string `json:"fix,omitempty" doc:"How to fix it, if that is known." example:"did you mean version?"`
}

// Info is what a plugin declares about itself.
type Info struct {
	Name        string
	Called      string // the name that the plugin gives itself, if that differs from Name
	Version     string
	Description string
	Author      string
	License     string
	Homepage    string
	Hooks       []string // in the words of the dialect
	Tools       []Tool
	Knobs       []Knob          // settings that a user may change
	Schema      json.RawMessage // JSON Schema of its config, an object; nil: it declares none
	Commands    []string
	CommandDocs []CommandDoc // describes Commands, if the dialect has descriptions
	Methods     []string
	Kinds       []string
	Priority    int // a dialect without priorities sets hook.DefaultPriority

	Protocol string // the protocol version that the plugin is made for; "": unknown

	Capabilities []string                // what it declares it needs, in the words of its dialect
	Needs        []capability.Capability // Capabilities translated for the sandbox, as far as possible; nil: the dialect has no declarations, empty: it needs nothing
	Optional     []capability.Capability // those of Needs whose path is fixed by the protocol; the path need not exist
	AnyProgram   bool                    // its dialect has no way to declare the programs that the plugin starts
}

// A CommandDoc describes one command of a plugin.
type CommandDoc struct {
	Name        string `json:"name" doc:"The command." example:"words"`
	Args        string `json:"args" doc:"Its arguments, as in a line of help." example:"[--lines]"`
	Description string `json:"description" doc:"What it does." example:"counts the words of its input"`
	Stdin       string `json:"stdin,omitempty" enum:"user" doc:"user: the command reads the stdin of the user. Without this field it reads a JSON object that describes the call." example:"user"`
}

// DefaultToolTimeout bounds a tool or method call if the configuration does not. It is long enough
// for a build, and short enough to notice a tool that hangs.
const DefaultToolTimeout = 2 * time.Minute

// A Tool is a function that a plugin offers to a model.
type Tool struct {
	Name        string          `json:"name" doc:"The full name, which contains the plugin's name." example:"plugin_words_count"`
	Plugin      string          `json:"plugin" doc:"The plugin that has it." example:"words"`
	Dialect     string          `json:"dialect" doc:"The plugin's protocol." example:"scaffold"`
	Description string          `json:"description" doc:"What it does." example:"counts words"`
	Parameters  json.RawMessage `json:"parameters" doc:"JSON Schema of an object." example:"{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}}}"`

	// Definition is the tool as its protocol describes it; nil if the protocol says no more than
	// the fields above.
	Definition json.RawMessage `json:"-"`
}

// A ToolResult is the result of a tool call.
type ToolResult struct {
	Tool    string `json:"tool"`
	Success bool   `json:"success"`
	Result  string `json:"result"`
	Error   string `json:"error"` // set if Success is false

	// Raw is the result in the form of the plugin's protocol, an object; nil if results of the
	// protocol are only text.
	Raw json.RawMessage `json:"-"`
	// Pending means that the tool needs input before it can go on. Raw says which input.
	Pending bool `json:"-"`

	// Sent and Received are the params and the result in the form of the plugin's protocol, for a
	// trace. Received is nil if the plugin answered with an error; both are nil if the plugin was
	// not called.
	Sent     json.RawMessage `json:"-"`
	Received json.RawMessage `json:"-"`
}

// A Plugin is an opened plugin. All its methods are safe for concurrent use.
type Plugin interface {
	Info() Info
	// Hooks returns the plugin's hooks at their native points. The host adds what the configuration
	// sets: priority, position, on_failure.
	Hooks() []hook.Hook
	// Status returns what is known without asking the plugin, so that listings and metrics never
	// wait for it.
	Status() Status
	// Close ends the plugin as its protocol demands, and stops its process.
	Close(ctx context.Context) error
}

// A HealthChecker is a plugin whose health is checked on demand and not at intervals. CheckHealth
// stores the result for Status. ctx bounds the check.
type HealthChecker interface {
	CheckHealth(ctx context.Context)
}

// A Reloader is a plugin that can load its file again without being reopened. The host needs this
// when it replaces a plugin: it opens the new one, then closes the old one. If both have the same
// file and share an interpreter, closing the old one unloads the file for both, so the host loads
// it again.
type Reloader interface {
	Reload(ctx context.Context) error
}

// A ToolCaller is a plugin with tools. name is the tool's full name.
type ToolCaller interface {
	CallTool(ctx context.Context, name string, arguments json.RawMessage) (ToolResult, error)
}

// A Lister is a plugin whose tools may change while it runs, and that may offer more than tools. It
// calls [Runtime.Changed] when its tools or its offers have changed.
type Lister interface {
	Tools() []Tool
	Offers() []Offer
}

// An OfferKind is the kind of an [Offer].
type OfferKind string

// The kinds of offers. Programs use an offer through the methods of its protocol: see
// [MethodCaller].
const (
	Prompt           OfferKind = "prompt"
	Resource         OfferKind = "resource"
	ResourceTemplate OfferKind = "resource_template"
)

// An Offer is something other than a tool that a plugin offers.
type Offer struct {
	Kind       OfferKind       `json:"kind"`
	Name       string          `json:"name"` // the URI if it is a resource
	Plugin     string          `json:"plugin"`
	Dialect    string          `json:"dialect"`
	Definition json.RawMessage `json:"definition"` // as its protocol describes it
}

// A ChangeKind says what a [Change] is about.
type ChangeKind string

// The kinds of changes.
const (
	ToolsChanged     ChangeKind = "tools"
	PromptsChanged   ChangeKind = "prompts"
	ResourcesChanged ChangeKind = "resources"
	ResourceUpdated  ChangeKind = "resource" // the resource at URI
)

// A Change reports that the tools or offers of a plugin have changed.
type Change struct {
	Kind ChangeKind
	URI  string
}

// A MethodCaller is a plugin that declares JSON-RPC methods.
type MethodCaller interface {
	CallMethod(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
}

// A Commander is a plugin that adds commands for users at a terminal.
type Commander interface {
	// RunCommand runs a command and passes its arguments on unchanged. The plugin's output goes to
	// Out and ErrOut as it arrives. code is the plugin's exit code.
	RunCommand(ctx context.Context, c Command) (code int, err error)
}

// A Command is one run of a plugin's command.
type Command struct {
	Name   string
	Args   []string
	In     io.Reader // the user's stdin, for commands that declare it; nil: there is none
	Out    io.Writer
	ErrOut io.Writer

	// Terminal is the user's terminal, nil if there is none. A plugin without a sandbox and without
	// limits uses it directly, and In, Out and ErrOut are ignored.
	Terminal *Terminal
	// Failed is called with the plugin's error message, which is then not written to ErrOut; may be
	// nil.
	Failed func(message string)
}

// A Terminal holds the host's terminal files for a program in the foreground.
type Terminal struct {
	In, Out, ErrOut *os.File
	Signals         <-chan os.Signal // forwarded to the program
}

// A Connector is a plugin whose hooks can be connected to points other than their own.
type Connector interface {
	// Connect returns the named hook as it is called at p. The error names the points to which that
	// hook can be connected.
	Connect(name string, p hook.Point) (hook.Hook, error)
}

// A Refresher is a plugin that checks its files at the start of each turn, so that a change takes
// effect in that turn.
type Refresher interface {
	Refresh(ctx context.Context)
}

// A TurnEnder is a plugin that is told when a turn is over, whether it hooks turn.done or not.
type TurnEnder interface {
	EndTurn(ctx context.Context)
}

// A Limited is a dialect that runs only a limited number of the plugins that Find lists. Most
// returns this number. Plugins that are disabled, or that do not start, do not count.
type Limited interface {
	Most() int
}

// A HookSet is the set of hooks that the host puts on its bus for one plugin.
type HookSet interface {
	Hooks() []hook.Hook
	Connector
}

// A Declarer is a dialect whose plugins declare their hooks in a file. The host knows these hooks
// even if the plugin cannot be opened.
type Declarer interface {
	// Declared returns the hooks of a plugin that cannot be opened. Each of them fails with the
	// given error. The set is nil if none is known. whole is false if the plugin may have others.
	Declared(f Found, err error) (set HookSet, whole bool)
}

// A ConfigChecker is a plugin that can check a configuration, for example the one that a job sends
// with each call. The error has the kind [hook.Refused] if the plugin does not accept the config;
// any other error means that the config could not be checked.
type ConfigChecker interface {
	CheckConfig(ctx context.Context, config json.RawMessage) error
}

// A Fleeting is a plugin that has no process between two calls. So the host loses nothing if it
// reopens the plugin when its files change.
type Fleeting interface {
	Fleeting()
}

// A Timekeeper is a plugin that itself ends a call after the timeout in its settings. The host
// waits longer for its hooks, so that the plugin can report which handler took too long. The host
// does not replace the timeout of these hooks.
type Timekeeper interface {
	KeepsTime()
}

// An Examiner is a dialect that finds faults which belong to no plugin, such as a script without
// its executable bit. Examine reads directories and starts nothing, because every opened host calls
// it.
type Examiner interface {
	Examine(env Env) []Problem
}

// A Prober is a dialect whose plugins need a program of this system. Probe runs it, and reports why
// it does not work.
type Prober interface {
	Probe(env Env) []Problem
}

// A Notification is a message that a plugin sends without a request.
type Notification struct {
	Time     time.Time       `json:"time" doc:"When it came." example:"2026-11-16T06:00:19Z"`
	Method   string          `json:"method" doc:"Its name." example:"notes.asked"`
	Params   json.RawMessage `json:"params" doc:"Its parameters; if they are long, their beginning as text." example:"{\"n\":1}"`
	Declared bool            `json:"declared" doc:"The manifest declares it." example:"true"`
}

// A Notifier is a plugin that sends notifications.
type Notifier interface {
	// Notifications returns the last ones, oldest first.
	Notifications() []Notification
}

// A Reconfigurer is a plugin whose configuration can be replaced while it runs.
type Reconfigurer interface {
	// Reconfigure returns nil as soon as the plugin works with the new configuration. Otherwise it
	// returns the reason why the plugin does not. It waits for calls under way. New calls wait
	// until it returns.
	Reconfigure(ctx context.Context, s Settings) error
}

// Settings holds what the configuration sets for one plugin.
type Settings struct {
	Timeout      time.Duration           // of hooks; 0: the dialect's default
	ToolTimeout  time.Duration           // of tools; 0: the dialect's default
	Standby      int                     // the number of processes that are started ahead
	TextMessages bool                    // hooks get conversations as text, not as lists of messages
	MustWork     bool                    // a failure of the plugin must end the event: on_failure is abort or deny
	Env          []string                // names and patterns (GIT_*) of variables that it gets in addition to the dialect's own
	Config       json.RawMessage         // an object; nil: none
	SystemConfig json.RawMessage         // the same from the secrets file; never logged
	Grants       []capability.Capability // what the sandbox allows; nil: what the plugin declares
	Listed       bool                    // the configuration lists the plugin's capabilities, in place of those that it declares
	Withheld     []string                // declared capabilities that were not granted when the plugin was recorded as trusted
}

// Storage holds a plugin's keys and values across runs.
type Storage interface {
	Get(ctx context.Context, key string) (value json.RawMessage, ok bool, err error)
	Put(ctx context.Context, key string, value json.RawMessage) error
	Delete(ctx context.Context, key string) error
	List(ctx context.Context, prefix string) ([]string, error)
}

// A StorageQuota limits what one plugin stores. Zero means the default.
type StorageQuota struct {
	Bytes int64 // of keys and values together
	Keys  int
}

// Runtime is the part of the host that a dialect uses.
type Runtime struct {
	Procs        *proc.Group
	Log          *slog.Logger // with plugin and dialect set; never nil
	Env          Env
	Storage      Storage                               // the plugin's own; nil: it has none
	Settings     func(called string) (Settings, error) // is called by a plugin that says its name when it starts, and returns the settings for this name; may be nil
	Note         func(p Problem, unusable bool)        // is called with each finding about the plugin; may be nil
	HooksChanged func()                                // must be called when a plugin's Hooks have changed; may be nil
	Notify       func(Notification)                    // is called with each notification that the plugin has declared; may be nil
	Changed      func(Change)                          // must be called by a [Lister] when its tools or offers have changed; may be nil
	HostVersion  string
	Dir          string // the host's working directory
	ProjectRoot  string // the root of the project in which the host works
	ProjectID    string

	// Program is started instead of the plugin's file, if that file only points to it. "": the file
	// itself is the program.
	Program string

	// Vet returns why a plugin's files must not be run as they are now, or nil. A dialect calls it
	// before it loads code into a running process. With VetStarts it is also called before each
	// process is started. May be nil.
	Vet       func() error
	VetStarts bool

	// Box returns the sandbox for the plugin's processes; own lists the plugin's files. nil: the
	// plugin is not sandboxed.
	Box    func(own ...string) proc.Box
	Limits Limits
}

// Limits bounds what a plugin may use.
type Limits struct {
	limits.Limits
	Output int // bytes of one answer; 0: the dialect's limit
}

// Odd reports something that works differently from what the plugin's author may expect, such as a
// hook that does not exist. It goes to the log and to the findings.
func (rt *Runtime) Odd(message, fix string) { rt.note(message, fix, false) }

// Unusable reports something that the plugin declares and that the host cannot use, such as a tool
// without a name. The rest of the plugin works.
func (rt *Runtime) Unusable(message, fix string) { rt.note(message, fix, true) }

// NoteTextIDs reports a plugin whose answers have the request's id as a string and not as a number.
// The answers are used, so this is only a finding: no command warns of it.
func (rt *Runtime) NoteTextIDs() {
	if rt.Note != nil {
		rt.Note(Problem{Message: `it answers the id 1 of a request with the id "1", a string`, Fix: "copy the id of the request unchanged, as a number"}, false)
	}
}

func (rt *Runtime) note(message, fix string, unusable bool) {
	log := rt.Log.With(FindingKey, true)
	if fix != "" {
		log = log.With("fix", fix)
	}
	log.Warn(message)
	if rt.Note != nil {
		rt.Note(Problem{Message: message, Fix: fix}, unusable)
	}
}

// noCompiled keeps Python from running compiled files in __pycache__. Python itself writes them, so
// they are not among the files that were vetted.
const noCompiled = "PYTHONPYCACHEPREFIX=" + os.DevNull

// Confined returns s with the plugin's limits and its sandbox, if it has one. own lists the
// plugin's files.
func (rt *Runtime) Confined(s proc.Spec, own ...string) proc.Spec {
	s.Limits = rt.Limits.Limits
	if rt.Program != "" {
		s.Path = rt.Program
	}
	if rt.VetStarts {
		s.Check = rt.Vet
		s.Env = append(slices.Clip(s.Env), noCompiled)
	}
	if rt.Box != nil {
		s.Box = rt.Box(own...)
	}
	return s
}

// Most returns the size limit of the plugin's answers: the dialect's limit, or less if the
// configuration says so.
func (rt *Runtime) Most(limit int) int {
	if rt.Limits.Output > 0 {
		return min(limit, rt.Limits.Output)
	}
	return limit
}
