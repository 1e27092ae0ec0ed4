package codehook

import (
	"context"
	"encoding/json"
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

// A Host fires events; *patchbay.Host is one.
type Host interface {
	Fire(ctx context.Context, point hook.Point, payload any) (*hook.Outcome, error)
}

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
	Notes    []string        // what the agent cannot do of what plugins asked for
}

// A Moment is an event that was read.
type Moment struct {
	Agent   Agent
	Event   string // the agent's own name for it
	Session string // the agent's own id of the session; "": it has none
	Request string // the agent's own id of the turn; "": it says none
	CallID  string // of the tool call; "": it is about none
	Dir     string // the directory that the agent works in
	Prompt  string // the user's message, where the event is one; "": it is none
	Begins  bool   // a turn begins with it
	Ends    bool   // a turn ends with it
	Last    bool   // the session ends with it

	points []hook.Point
	fields map[string]json.RawMessage
}

// Points are the points that the event stands for, in the order in which they are fired. None: nobody is asked.
func (m *Moment) Points() []hook.Point { return m.points }

// An EventSpec is an event that Patchbay wants to be asked about.
type EventSpec struct {
	Name    string
	Points  []hook.Point
	Timeout time.Duration // what the agent is told to wait for an answer
}

// Deadline is when an answer must be there: before the agent gives up, since every agent goes on as if nobody had an opinion then.
func (s EventSpec) Deadline() time.Duration {
	if s.Timeout <= 2*time.Second {
		return 800 * time.Millisecond
	}
	return s.Timeout - time.Second
}
