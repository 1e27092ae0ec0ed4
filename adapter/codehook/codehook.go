package codehook

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
)

// An Agent is a program whose hooks can be answered.
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

// Agents lists them.
func Agents() []Agent { return []Agent{Claude, Codex, Gemini, Copilot, Qwen, Cursor, OpenCode} }

// Known tells whether there is such an agent.
func (a Agent) Known() bool { return slices.Contains(Agents(), a) }

// Title is what people call the agent.
func (a Agent) Title() string { return titles[a] }

var titles = map[Agent]string{Claude: "Claude Code", Codex: "Codex", Gemini: "Gemini CLI", Copilot: "Copilot CLI",
	Qwen: "Qwen Code", Cursor: "Cursor", OpenCode: "OpenCode"}

// A Host fires events; *patchbay.Host is one. One that has a method
//
//	Closed(point hook.Point) []string
//
// says which plugins must be asked at a point. Where time runs out before all plugins were asked,
// the event is then denied only where there are such.
type Host interface {
	Fire(ctx context.Context, point hook.Point, payload any) (*hook.Outcome, error)
}

// MaxInput is how long an event may be.
const MaxInput = 16 << 20

// An Input is an event as it came from an agent.
type Input struct {
	Agent   Agent
	Event   string            // its name, where the command line says it; "": the data says it
	Data    []byte            // what the agent wrote to stdin
	Dir     string            // the working directory of the process that the agent started
	Environ map[string]string // those of [Variables] that are set in that process
}

// An Answer is what the agent is told.
type Answer struct {
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	ExitCode int    `json:"exit_code"`
}

// A Result is what became of an event.
type Result struct {
	Answer   Answer
	Outcomes []*hook.Outcome // one for each point that was fired, in order
	Notes    []string        // what the agent cannot do of what plugins asked for, and what went wrong
}

// A Moment is an event that was read.
type Moment struct {
	Agent   Agent
	Event   string // the agent's own name for it
	Session string // the agent's own id of the session; "": it has none
	Request string // the agent's own id of the turn; "": it says none
	CallID  string // of the tool call; "": it is about none, or the agent has none
	Dir     string // the directory that the agent works in
	Prompt  string // the user's message, where the event is one; "": it is none
	Begins  bool   // a turn begins with it
	Ends    bool   // a turn ends with it
	Last    bool   // the session ends with it

	// Plugins are told these two with every event. A caller who knows better sets them before
	// [Moment.Fire].
	Root     string // of the project; [Parse] takes the agent's word, or Dir
	UserText string // what the user said in this turn; [Parse] knows it only where the event says it

	event event
	data  hook.Object // the agent's own fields
	line  hook.Object // OpenCode: the whole line, whose input and output data has
	call  *call       // the tool call that it is about; nil: none
	alien bool        // another agent sent it
}

// Points are the points that Fire fires for this event, in order. It has none where no plugin is
// asked.
func (m *Moment) Points() []hook.Point { return slices.Clone(m.event.points) }

// An EventSpec is an event that Patchbay wants to be asked about.
type EventSpec struct {
	Name    string
	Points  []hook.Point
	Matcher string        // what the agent is told to narrow the event to; "": nothing
	Timeout time.Duration // what the agent is told to wait for an answer
}

// Deadline is how long an answer may take. It ends before the agent gives up, because an agent that
// gets no answer goes on.
func (s EventSpec) Deadline() time.Duration {
	if s.Timeout <= 2*time.Second {
		return 800 * time.Millisecond
	}
	return s.Timeout - time.Second
}

// Deadline is how long an answer to this event may take.
func (m *Moment) Deadline() time.Duration { return m.event.spec().Deadline() }

// NoOpinion tells an agent to go on by its own rules. It is a valid answer to every event, also to
// one that could not be read.
func NoOpinion(a Agent) Answer {
	switch a {
	case Cursor, OpenCode:
		return Answer{Stdout: "{}\n"}
	default:
		return Answer{}
	}
}

// NoOpinion tells the agent to go on by its own rules.
func (m *Moment) NoOpinion() Answer { return m.encode(&wish{}) }

// Refuse denies the event. It is for events at which a plugin must be asked and could not be. Where
// the event cannot be denied, the agent goes on.
func (m *Moment) Refuse(reason string) Answer {
	w := &wish{}
	if m.Gates() {
		m.deny(w, reason)
	}
	return m.encode(m.within(w))
}

// Gates tells whether a denial of the event keeps anything from happening: a call that runs, a
// message that goes to the model, a result or a reply that is shown. The end of a turn is none:
// what is broken must not keep the agent at work.
func (m *Moment) Gates() bool {
	switch m.event.kind {
	case before, prompt, after:
		return true
	case reply:
		return m.Agent.way(replaceReply) == does
	default:
		return false
	}
}

// raw is short for what fields are made of.
type raw = json.RawMessage
