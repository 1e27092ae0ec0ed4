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
	// Name is the word users know it by, e.g. "scaffold".
	Name() string
	// Places says where Find looks, for people who want to put a plugin there.
	Places(env Env) []Place
	// Points are the points at which its plugins can natively be asked.
	Points() []hook.Point
	// Find lists the plugins in the places where this protocol's plugins live, in the order in
	// which they are to be opened. It starts nothing. A place that does not exist is not an error.
	Find(env Env) []Found
	// At looks at one path a user named. ok is false where it is not a plugin of this dialect; a
	// plugin that is at fault is found, and broken.
	At(path string, env Env) (found Found, ok bool)
	// Open brings a found plugin to life. It returns when the plugin is ready for calls; ctx bounds
	// only that.
	Open(ctx context.Context, f Found, s Settings, rt *Runtime) (Plugin, error)
}

// A Place is a directory in which the plugins of a dialect live.
type Place struct {
	Dialect string `json:"dialect"`
	Dir     string `json:"dir"`
	Form    string `json:"form"` // what a plugin looks like there, e.g. "NAME/manifest.yaml"
}

// A State is what became of a plugin.
type State string

// The states.
const (
	Ready       State = "ready"
	Broken      State = "broken"      // found, but it cannot work; Err says why
	Disabled    State = "disabled"    // by the configuration
	Skipped     State = "skipped"     // left out by a rule of its dialect
	Unsupported State = "unsupported" // not for this system
)

// ErrUnsupported is wrapped by the error of Open for a plugin that is not meant for this system: it
// is not broken, only not for here.
var ErrUnsupported = errors.New("unsupported")

// Found is a plugin on disk.
type Found struct {
	Dialect  string
	Name     string    // the best known before it runs
	Place    string    // the name of its file or directory, which only the person who installs it chooses
	Path     string    // its file or directory, absolute
	Project  string    // the root of the project that brings it along; "": it is the user's own
	State    State     // "": it may be opened; else Err says why not
	Err      error     // why it is in this state
	Problems []Problem // what is wrong with its manifest, all of it
	Warnings []Problem // what is odd about it
	Info     *Info     // what it declares; nil: not known until it is opened
	File     string    // its manifest, absolute; "": it has none that could be read
	Sole     string    // a role that only one enabled plugin may have, e.g. "compactor"; "": none
	Manifest any       // the dialect's own
}

// A Problem is something wrong with a plugin's files.
type Problem struct {
	Path    string `json:"path"`
	Line    int    `json:"line"`   // from 1; 0 where it is about the whole file
	Column  int    `json:"column"` // from 1
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
}

// Info is what a plugin says of itself.
type Info struct {
	Name        string
	Called      string // what it calls itself, where that is not its name
	Version     string
	Description string
	Author      string
	License     string
	Homepage    string
	Hooks       []string // the dialect's own names
	Tools       []Tool
	Knobs       []Knob          // settings that a person may turn
	Schema      json.RawMessage // JSON Schema of its config, an object; nil: it declares none
	Commands    []string
	CommandDocs []CommandDoc // of the commands, where its dialect has words for them
	Methods     []string
	Kinds       []string
	Priority    int // a dialect whose plugins name none gives hook.DefaultPriority

	Protocol string // the version of the dialect's protocol that it is made for; "": it does not say

	Capabilities []string                // what it declares it needs, in its dialect's words
	Needs        []capability.Capability // the same in the sandbox's words, as far as it has words for it; nil: its dialect declares nothing, empty: it needs nothing
	AnyProgram   bool                    // its dialect has no way to declare the programs it starts
}

// A CommandDoc is what a plugin says of one of its commands.
type CommandDoc struct {
	Name        string `json:"name"`
	Args        string `json:"args"` // as in a line of help, e.g. "[--vault NAME]"
	Description string `json:"description"`
	Stdin       string `json:"stdin,omitempty"` // whose stdin it has; "": what its protocol sends
}

// DefaultToolTimeout bounds a tool or method call where the configuration does not: long enough for
// a build, short enough that a dead tool is noticed.
const DefaultToolTimeout = 2 * time.Minute

// A Tool is a function a plugin offers to a model.
type Tool struct {
	Name        string          `json:"name"` // as the host calls it, with the plugin's name in it
	Plugin      string          `json:"plugin"`
	Dialect     string          `json:"dialect"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // JSON Schema of an object

	// Definition is the tool in the words of its protocol, where that has more to say; nil: it has
	// not.
	Definition json.RawMessage `json:"-"`
}

// A ToolResult is what a tool call came to.
type ToolResult struct {
	Tool    string `json:"tool"`
	Success bool   `json:"success"`
	Result  string `json:"result"`
	Error   string `json:"error"` // set where Success is false

	// Raw is the result in the words of the plugin's protocol, where that has more to say than a
	// text: an object.
	Raw json.RawMessage `json:"-"`
	// Pending: the tool asks for something before it goes on, and Raw says for what.
	Pending bool `json:"-"`
}

// A Plugin is an opened plugin. All its methods are safe for concurrent use.
type Plugin interface {
	Info() Info
	// Hooks is the native wiring. The host fills in what the configuration says: priority,
	// position, what a failure does.
	Hooks() []hook.Hook
	// Status tells what is known. It asks neither the plugin nor anybody else, and returns at once:
	// listings and metrics are made of it.
	Status() Status
	// Close says farewell in the protocol's way and ends the process.
	Close(ctx context.Context) error
}

// A HealthChecker is a plugin that is asked how it is when somebody wants to know, and not at
// intervals. Its Status has the answer afterwards. ctx bounds the question.
type HealthChecker interface {
	CheckHealth(ctx context.Context)
}

// A Reloader is a plugin that looks itself whether its file has changed: the host need not open it
// anew for that. Plugins that share an interpreter are unloaded from it by their path, so the host
// has one loaded again after another of the same file was closed.
type Reloader interface {
	Reload(ctx context.Context) error
}

// A ToolCaller is a plugin with tools. name is the tool's full name.
type ToolCaller interface {
	CallTool(ctx context.Context, name string, arguments json.RawMessage) (ToolResult, error)
}

// A Lister is a plugin whose tools may be others from one moment to the next, and that may have
// more than tools to offer. It calls [Runtime.Changed] when they are.
type Lister interface {
	Tools() []Tool
	Offers() []Offer
}

// An OfferKind says what a plugin has to offer beside tools.
type OfferKind string

// The kinds of offers. They are asked for with the methods of their protocol: see [MethodCaller].
const (
	Prompt           OfferKind = "prompt"
	Resource         OfferKind = "resource"
	ResourceTemplate OfferKind = "resource_template"
)

// An Offer is something that a plugin has beside its tools.
type Offer struct {
	Kind       OfferKind       `json:"kind"`
	Name       string          `json:"name"` // of a resource its address
	Plugin     string          `json:"plugin"`
	Dialect    string          `json:"dialect"`
	Definition json.RawMessage `json:"definition"` // in the words of its protocol
}

// A ChangeKind says what has changed.
type ChangeKind string

// The kinds of changes.
const (
	ToolsChanged     ChangeKind = "tools"
	PromptsChanged   ChangeKind = "prompts"
	ResourcesChanged ChangeKind = "resources"
	ResourceUpdated  ChangeKind = "resource" // the one at URI
)

// A Change is news of what plugins have to offer.
type Change struct {
	Kind ChangeKind
	URI  string
}

// A MethodCaller is a plugin with JSON-RPC methods of its own.
type MethodCaller interface {
	CallMethod(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
}

// A Commander is a plugin with commands of its own, run for a user at a terminal.
type Commander interface {
	// RunCommand runs a command with its arguments untouched. What the plugin prints goes to Out
	// and ErrOut as it comes. The code is the plugin's exit code.
	RunCommand(ctx context.Context, c Command) (code int, err error)
}

// A Command is one run of a plugin's own command.
type Command struct {
	Name   string
	Args   []string
	In     io.Reader // the user's, for commands that want it; nil: there is none
	Out    io.Writer
	ErrOut io.Writer

	// Terminal is the user's, where one sits at it. A plugin that is not confined has it for
	// itself, and In, Out and ErrOut are not used.
	Terminal *Terminal
	// Failed takes what the plugin says went wrong, in place of ErrOut; may be nil.
	Failed func(message string)
}

// A Terminal is what a program in the foreground is given of its host.
type Terminal struct {
	In, Out, ErrOut *os.File
	Signals         <-chan os.Signal // passed on to the program
}

// A Connector is a plugin whose hooks can be wired to points beyond their own.
type Connector interface {
	// Connect returns the named hook as it is asked at p, or an error that says at which points
	// that hook has a meaning.
	Connect(name string, p hook.Point) (hook.Hook, error)
}

// A Refresher is a plugin that looks at its files again where a turn begins, so that what was
// changed acts from then on.
type Refresher interface {
	Refresh(ctx context.Context)
}

// A Limited dialect runs at most so many of the plugins that Find lists. Those that are disabled or
// do not start take no place.
type Limited interface {
	Most() int
}

// Wiring is where a plugin's hooks are: what the host puts on its bus.
type Wiring interface {
	Hooks() []hook.Hook
	Connector
}

// A Declarer is a dialect whose plugins declare their hooks in a file, so that they are known even
// of a plugin that cannot be opened.
type Declarer interface {
	// Declared are the hooks of such a plugin, each of which fails with why. ok is false where they
	// are not known.
	Declared(f Found, why error) (w Wiring, ok bool)
}

// A ConfigChecker is a plugin that can tell whether a configuration would do, such as the one a job
// gives it with each call.
type ConfigChecker interface {
	CheckConfig(ctx context.Context, config json.RawMessage) error
}

// A Fleeting plugin has no process between two calls. To open it again when its files have changed
// loses nothing, and what it says of itself is up to date.
type Fleeting interface {
	Fleeting()
}

// An Examiner is a dialect that sees more wrong with a user's files than with any one plugin, such
// as a script that lacks its executable bit.
type Examiner interface {
	Examine(env Env) []Problem
}

// A Notification is something a plugin said unasked.
type Notification struct {
	Time     time.Time       `json:"time"`
	Method   string          `json:"method"`
	Params   json.RawMessage `json:"params"`   // in the place of long ones their beginning, as a text
	Declared bool            `json:"declared"` // the plugin's manifest announces it
}

// A Notifier is a plugin that speaks unasked.
type Notifier interface {
	// Notifications are the last ones, oldest first.
	Notifications() []Notification
}

// A Reconfigurer is a plugin that can be given another configuration while it runs.
type Reconfigurer interface {
	// Reconfigure returns when the plugin works with the new configuration, or says why it does
	// not. Calls wait meanwhile; those under way come to their end first.
	Reconfigure(ctx context.Context, s Settings) error
}

// Settings are what the configuration says about one plugin.
type Settings struct {
	Timeout      time.Duration           // for hooks; 0: the dialect's
	ToolTimeout  time.Duration           // for tools; 0: the dialect's
	Standby      int                     // processes kept ready
	Env          []string                // names and patterns (GIT_*) passed on beside the dialect's own
	Config       json.RawMessage         // an object; nil: none
	SystemConfig json.RawMessage         // the same, from the secrets file; never logged
	Grants       []capability.Capability // what it may do; nil: what it declares
	Withheld     []string                // of what it declares, what was not granted when it was recorded
}

// Storage is a plugin's own keys and values, kept across runs.
type Storage interface {
	Get(ctx context.Context, key string) (value json.RawMessage, ok bool, err error)
	Put(ctx context.Context, key string, value json.RawMessage) error
	Delete(ctx context.Context, key string) error
	List(ctx context.Context, prefix string) ([]string, error)
}

// A StorageQuota bounds what one plugin stores. Zero stands for the default.
type StorageQuota struct {
	Bytes int64 // of keys and values together
	Keys  int
}

// Runtime is what a dialect may use of its host.
type Runtime struct {
	Procs       *proc.Group
	Log         *slog.Logger // with plugin and dialect set; never nil
	Env         Env
	Storage     Storage                               // the plugin's own; nil: it has none
	Settings    func(called string) (Settings, error) // for a plugin that says only once it runs what it calls itself; may be nil
	Note        func(p Problem, unusable bool)        // takes what Odd and Unusable report; may be nil
	Rewire      func()                                // to be called when a plugin's Hooks have changed; may be nil
	Notify      func(Notification)                    // is told what plugins say unasked and have announced; may be nil
	Changed     func(Change)                          // to be called by a [Lister] when it has something else to offer; may be nil
	HostVersion string
	Dir         string // where the host does its work
	ProjectRoot string // the project the host works in
	ProjectID   string

	// Program is started in the place of the plugin's file, which only leads to it. "": the file is
	// the program.
	Program string

	// Vet tells why a plugin's files must not be run as they are now. It is to be asked before code
	// is loaded into a process that runs already. VetStarts says that it is asked before each
	// process is started. May be nil.
	Vet       func() error
	VetStarts bool

	// Box puts a plugin's processes into its sandbox; own are its files. nil: it has none.
	Box    func(own ...string) proc.Box
	Limits Limits
}

// Limits are what a plugin may use.
type Limits struct {
	limits.Limits
	Output int // bytes of one answer; 0: as much as its dialect allows
}

// FindingKey marks a log record that is also a finding. A command that lists the findings leaves
// such records out, so that nothing is printed twice.
const FindingKey = "finding"

// Odd reports something that works otherwise than the plugin's author thinks, such as a hook that
// does not exist: to the log, and to those who list findings.
func (rt *Runtime) Odd(message, fix string) { rt.note(message, fix, false) }

// Unusable reports something that the plugin declares and that cannot be used, such as a tool
// without a name. The rest of the plugin works.
func (rt *Runtime) Unusable(message, fix string) { rt.note(message, fix, true) }

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

// noCompiled keeps Python from taking the compiled files in __pycache__ for those that were vetted:
// they are none of a plugin's files, since Python itself writes them.
const noCompiled = "PYTHONPYCACHEPREFIX=" + os.DevNull

// Confined is a program to be started for a plugin, within the plugin's limits and in its sandbox,
// if it has one. own are the plugin's files.
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

// Most is the largest answer the plugin may give where its dialect allows most.
func (rt *Runtime) Most(most int) int {
	if rt.Limits.Output > 0 {
		return min(most, rt.Limits.Output)
	}
	return most
}
