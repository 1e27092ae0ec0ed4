package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

// Hooks answers the hooks of other coding agents.
type Hooks interface {
	// Answer sends an agent's event through plugins and returns the answer. Errors: ErrNoAgent,
	// ErrOtherVersion, ErrOtherProtocol, *InvalidRequestError for invalid events, *UnavailableError
	// from a daemon that is about to end.
	Answer(ctx context.Context, agent string, r HookRequest) (HookAnswer, error)
}

// A Yielder is a daemon that can give its place to another one.
type Yielder interface {
	// Yield gives the place to another daemon. ErrNoYield.
	Yield(ctx context.Context, r YieldRequest) error
}

// Requests that a daemon refuses.
var (
	ErrNoAgent       = errors.New("no such agent")
	ErrOtherVersion  = errors.New("this daemon has another version: start your own daemon, and this one gives up its place")
	ErrOtherProtocol = errors.New("this daemon uses another version of this protocol")
	ErrNoYield       = errors.New("this daemon does not give up its place")
)

// A HookRequest is an event of another agent, as its hook got it.
type HookRequest struct {
	Protocol int               `json:"protocol" doc:"The version of this exchange: 1." example:"1"`
	Version  string            `json:"version,omitempty" maxLength:"64" doc:"The version of the program that asks; without it, any daemon answers. A daemon that a hook has started gives its place to another version." example:"0.1.0"`
	Event    string            `json:"event,omitempty" maxLength:"256" doc:"The agent's name for the event; without it, the input must contain it." example:"PreToolUse"`
	Dir      string            `json:"dir" maxLength:"4096" doc:"The working directory of the hook." example:"/home/mira/notes"`
	Environ  map[string]string `json:"environ,omitempty" doc:"Environment variables of the hook that describe the event." example:"{\"CLAUDE_PROJECT_DIR\":\"/home/mira/notes\"}"`
	Input    json.RawMessage   `json:"input" doc:"What the agent wrote to the hook's stdin; a string if that is not JSON." example:"{\"session_id\":\"s\",\"tool_name\":\"Bash\"}"`
	Deadline int64             `json:"deadline_ms,omitempty" minimum:"0" doc:"How long the answer may take, in milliseconds." example:"30000"`
}

// A HookAnswer is the answer that the hook gives to the agent.
type HookAnswer struct {
	Stdout   string   `json:"stdout" doc:"What the hook prints for the agent." example:"{\"decision\":\"block\"}"`
	Stderr   string   `json:"stderr" doc:"What the hook prints for the user." example:""`
	ExitCode int      `json:"exit_code" doc:"The exit code of the hook." example:"0"`
	Notes    []string `json:"notes,omitempty" doc:"Requests of plugins that the agent cannot carry out." example:"[\"inject is not possible here\"]"`
}

// A YieldRequest describes the daemon that wants the place.
type YieldRequest struct {
	Version string `json:"version" maxLength:"64" doc:"The version of the daemon that wants the place." example:"0.1.0"`
	Serve   bool   `json:"serve,omitempty" doc:"It was started by a person or by the system, and so has precedence over one that a hook started." example:"true"`
}

type hookCall struct {
	Agent string `path:"agent" maxLength:"64" doc:"claude, codex, gemini, copilot, qwen, cursor or opencode." example:"claude"`
	Body  HookRequest
}

type yieldCall struct {
	Body YieldRequest
}

type yielded struct {
	Yields bool `json:"yields" doc:"Whether it gives up its place." example:"true"`
}

// hooksPath is the path for events of other agents. They can be as long as the result of a tool.
const hooksPath = "/v1/hooks/"

// hookBody limits the size of such a request: an event of 16 MiB, escaped.
const hookBody = 40 << 20

// bodyLimit returns the size limit of a request to a path.
func (l Limits) bodyLimit(path string) int64 {
	if strings.HasPrefix(path, hooksPath) {
		return max(l.Body, hookBody)
	}
	return l.Body
}

func (a *api) addHooks() {
	add(a, route{method: "POST", path: hooksPath + "{agent}", id: "hook", tag: "hooks", summary: "Answer a hook of another coding agent",
		doc: "Every enabled plugin takes part, in the project of the event's directory. `patchbay hook` and `patchbay-hook` ask here: see docs/hosts/daemon.md. " +
			"A refusal is an answer, not an error. 409: start a daemon of your own version. 501: this daemon does not support your protocol version.",
		errors: []int{404, 409, 501, 503}}, func(ctx context.Context, in *hookCall) (*answer[HookAnswer], error) {
		got, err := a.Hooks.Answer(ctx, in.Agent, in.Body)
		return answered(got, hookProblem(err, in.Agent))
	})
}

func (a *api) addYielder() {
	add(a, route{method: "POST", path: "/v1/daemon/yield", id: "yield", tag: "hooks", summary: "Give the place to another daemon",
		doc:    "Only a daemon that a hook has started does this. It finishes the requests in progress, and ends when the other daemon listens in its place.",
		errors: []int{409}}, func(ctx context.Context, in *yieldCall) (*answer[yielded], error) {
		err := a.Yielder.Yield(ctx, in.Body)
		return answered(yielded{err == nil}, hookProblem(err, ""))
	})
}

func hookProblem(err error, agent string) error {
	switch {
	case errors.Is(err, ErrNoAgent):
		return &problem{http.StatusNotFound, "Agent not found: " + quote(agent)}
	case errors.Is(err, ErrOtherVersion), errors.Is(err, ErrNoYield):
		return &problem{http.StatusConflict, err.Error()}
	case errors.Is(err, ErrOtherProtocol):
		return &problem{http.StatusNotImplemented, err.Error()}
	}
	return err
}
