package codehook

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
)

// An Agent is a program with hooks that Patchbay can answer.
type Agent string

// The agents.
const (
	Claude   Agent = "claude"
	Codex    Agent = "codex"
	Gemini   Agent = "gemini"
	Copilot  Agent = "copilot"
	Qwen     Agent = "qwen"
	Cursor   Agent = "cursor"
	OpenCode Agent = "opencode"
)

// Agents returns all agents.
func Agents() []Agent { return []Agent{Claude, Codex, Gemini, Copilot, Qwen, Cursor, OpenCode} }

// Known reports whether a is one of Agents.
func (a Agent) Known() bool { return slices.Contains(Agents(), a) }

// Title returns the product name of the agent.
func (a Agent) Title() string { return titles[a] }

var titles = map[Agent]string{Claude: "Claude Code", Codex: "Codex", Gemini: "Gemini CLI", Copilot: "Copilot CLI",
	Qwen: "Qwen Code", Cursor: "Cursor", OpenCode: "OpenCode"}

// A Host fires events; *patchbay.Host is one. A host may also have the method
//
//	Closed(point hook.Point) []string
//
// which returns the plugins that must agree to events at a point. Then, if time runs out before all
// plugins were called, an event is denied only if there are such plugins.
type Host interface {
	Fire(ctx context.Context, point hook.Point, payload any) (*hook.Outcome, error)
}

// MaxInput limits the length of an event.
const MaxInput = 16 << 20

// An Input is an event as the agent sent it.
type Input struct {
	Agent   Agent
	Event   string            // the event's name from the command line; "": the data has it
	Data    []byte            // what the agent wrote to stdin
	Dir     string            // the working directory of the process that the agent started
	Environ map[string]string // those of [Variables] that are set in that process
}

// An Answer is what the hook program prints for the agent, and its exit code.
type Answer struct {
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	ExitCode int    `json:"exit_code"`
}

// A Result is the result of firing an event.
type Result struct {
	Answer   Answer
	Outcomes []*hook.Outcome // one for each point that was fired, in order
	Notes    []string        // wishes of plugins that the agent cannot fulfil, and failures
}

// ProbeSession is the session of the events that `patchbay hook status` sends to try the hooks of
// an agent. No agent has a session of this name.
const ProbeSession = "patchbay-status"

// A Moment is a parsed event.
type Moment struct {
	Agent   Agent
	Event   string // the agent's name for it
	Session string // the agent's id of the session; "": it has none
	Request string // the agent's id of the turn; "": it has none
	CallID  string // of the tool call; "": there is no call, or it has no id
	Dir     string // the agent's working directory
	Prompt  string // the user's message, if the event is one
	Begins  bool   // the event begins a turn
	Ends    bool   // the event ends a turn
	Last    bool   // the event ends the session

	// Every event that plugins receive has these two. A caller that knows them better sets them
	// before [Moment.Fire].
	Root     string // of the project; Parse takes it from the event, or uses Dir
	UserText string // the user's message of this turn; Parse sets it only if the event has it

	event event
	data  hook.Object // the agent's fields
	line  hook.Object // OpenCode: the whole line; data has its input and output in one object
	call  *call       // nil: the event is not about a tool call
	alien bool        // another agent sent it
}

// Points returns the points that Fire fires for this event, in order. It is empty if no plugin is
// called.
func (m *Moment) Points() []hook.Point { return slices.Clone(m.event.points) }

// An EventSpec is an event for which the agent must call Patchbay.
type EventSpec struct {
	Name    string
	Points  []hook.Point
	Gates   bool          // denying it prevents something: see [Moment.Gates]
	Matcher string        // limits the event in the agent's settings; "": no limit
	Timeout time.Duration // how long the agent's settings let it wait
}

// Deadline returns how long an answer may take. It is shorter than the agent's timeout, because an
// agent that gets no answer goes on.
func (s EventSpec) Deadline() time.Duration {
	if s.Timeout <= 2*time.Second {
		return 800 * time.Millisecond
	}
	return s.Timeout - time.Second
}

// Deadline returns how long an answer to this event may take.
func (m *Moment) Deadline() time.Duration { return m.event.spec(m.Agent).Deadline() }

// NoOpinion returns the answer that lets an agent go on by its own rules. It is valid for every
// event, also for one that could not be read.
func NoOpinion(a Agent) Answer {
	switch a {
	case Cursor, OpenCode:
		return Answer{Stdout: "{}\n"}
	default:
		return Answer{}
	}
}

// NoOpinion returns the answer that lets the agent go on by its own rules.
func (m *Moment) NoOpinion() Answer { return m.encode(&wish{}) }

// Refuse returns the answer that denies the event. It is for events to which a plugin must agree,
// if the plugin could not be called. If the event cannot be denied, the answer lets the agent go
// on.
func (m *Moment) Refuse(reason string) Answer {
	w := &wish{}
	if m.Gates() {
		m.deny(w, reason)
	}
	return m.encode(m.within(w))
}

// Gates reports whether denying the event prevents something: a call that runs, a message that goes
// to the model, a result or a reply that is shown. The end of a turn is not a gate: a failure must
// not keep the agent working.
func (m *Moment) Gates() bool { return m.Agent.gates(m.event.kind) }

// gates is [Moment.Gates] for an event of this kind.
func (a Agent) gates(k kind) bool {
	switch k {
	case before, prompt, after:
		return true
	case reply:
		return a.way(replaceReply) == does
	default:
		return false
	}
}

// raw is raw JSON.
type raw = json.RawMessage
