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
	// Answer tells an agent what plugins say about an event of its. Errors: ErrNoAgent,
	// ErrOtherVersion, ErrOtherProtocol, *InvalidRequestError for what is no event,
	// *UnavailableError from a daemon that is about to end.
	Answer(ctx context.Context, agent string, r HookRequest) (HookAnswer, error)
}

// A Yielder is a daemon that makes room for others.
type Yielder interface {
	// Yield makes room for another daemon. ErrNoYield.
	Yield(ctx context.Context, r YieldRequest) error
}

// What a daemon does not do.
var (
	ErrNoAgent       = errors.New("no such agent")
	ErrOtherVersion  = errors.New("this daemon is of another version: start your own, and it makes room")
	ErrOtherProtocol = errors.New("this daemon speaks another version of this protocol")
	ErrNoYield       = errors.New("this daemon stays where it is")
)

// A HookRequest is an event of another agent, as its hook was told it.
type HookRequest struct {
	Protocol int               `json:"protocol" doc:"The version of this exchange: 1."`
	Version  string            `json:"version,omitempty" maxLength:"64" doc:"Of the program that asks; without it, any will do. A daemon that a hook has started makes room for another version."`
	Event    string            `json:"event,omitempty" maxLength:"256" doc:"The agent's name for the event; without it, the input says it."`
	Dir      string            `json:"dir" maxLength:"4096" doc:"The working directory of the hook."`
	Environ  map[string]string `json:"environ,omitempty" doc:"Those environment variables of the hook by which agents say more about an event."`
	Input    json.RawMessage   `json:"input" doc:"What the agent wrote to the hook's stdin; a string where that is not JSON."`
	Deadline int64             `json:"deadline_ms,omitempty" minimum:"0" doc:"How long the answer may take."`
}

// A HookAnswer is what the hook tells the agent.
type HookAnswer struct {
	Stdout   string   `json:"stdout"`
	Stderr   string   `json:"stderr"`
	ExitCode int      `json:"exit_code"`
	Notes    []string `json:"notes,omitempty" doc:"What plugins asked for and the agent cannot do."`
}

// A YieldRequest says who wants the daemon's place.
type YieldRequest struct {
	Version string `json:"version" maxLength:"64" doc:"Of the daemon that wants it."`
	Serve   bool   `json:"serve,omitempty" doc:"It was started by a person, or by the system: it goes before one that a hook started."`
}

type hookCall struct {
	Agent string `path:"agent" maxLength:"64" doc:"claude, codex, gemini, copilot, qwen, cursor or opencode."`
	Body  HookRequest
}

type yieldCall struct {
	Body YieldRequest
}

type yielded struct {
	Yields bool `json:"yields"`
}

// hooksPath is where events of other agents come. They are as long as a tool's result.
const hooksPath = "/v1/hooks/"

// hookBody is how large such a request may be: an event of 16 MiB, escaped.
const hookBody = 40 << 20

// bodyLimit is how large a request to this path may be.
func (l Limits) bodyLimit(path string) int64 {
	if strings.HasPrefix(path, hooksPath) {
		return max(l.Body, hookBody)
	}
	return l.Body
}

func (a *api) addHooks() {
	add(a, route{method: "POST", path: hooksPath + "{agent}", id: "hook", tag: "hooks", summary: "Answer a hook of another coding agent",
		doc: "Every enabled plugin takes part, in the project of the event's directory. `patchbay hook` and `patchbay-hook` ask here: see docs/hosts/daemon.md. " +
			"A refusal is an answer. 409: start a daemon of your own version; 501: this one does not understand you.",
		errors: []int{404, 409, 501, 503}}, func(ctx context.Context, in *hookCall) (*answer[HookAnswer], error) {
		got, err := a.Hooks.Answer(ctx, in.Agent, in.Body)
		return answered(got, hookProblem(err, in.Agent))
	})
}

func (a *api) addYielder() {
	add(a, route{method: "POST", path: "/v1/daemon/yield", id: "yield", tag: "hooks", summary: "Make room for another daemon",
		doc:    "Only a daemon that a hook has started does. It answers what is under way, and ends when the other one listens in its place.",
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
