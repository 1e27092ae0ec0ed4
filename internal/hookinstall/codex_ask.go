package hookinstall

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/patchbay-dev/patchbay/internal/proc"
)

// A CodexHook describes a hook as Codex sees it.
type CodexHook struct {
	Key   string `json:"key"`
	Event string `json:"eventName"`
	Hash  string `json:"currentHash"`
	Trust string `json:"trustStatus"` // trusted, untrusted, modified …
}

// AskCodex returns the hooks that Codex knows in a project. It starts the Codex that is in PATH.
// Only Codex can tell whether a hook is approved; it silently ignores hooks that are not approved.
func (p Prober) AskCodex(ctx context.Context) ([]CodexHook, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, probeTime, fmt.Errorf("codex app-server: no answer in %s", probeTime))
	defer cancel()
	group := proc.NewGroup(p.Logger)
	defer func() {
		if err := group.Close(); err != nil {
			p.Logger.Warn("codex app-server did not end well", "err", err)
		}
	}()
	server, err := group.Start(ctx, proc.Spec{Path: "codex", Args: []string{"app-server"}, Dir: p.Dir, Env: p.Environ})
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { server.Stop(ctx, proc.Ladder{}) })()
	ask, err := codexQuestions(p.Dir)
	if err != nil {
		return nil, err
	}
	if _, err := server.Stdin().Write(ask); err != nil {
		return nil, fmt.Errorf("codex app-server: %w", err)
	}
	lines := bufio.NewScanner(server.Stdout())
	lines.Buffer(nil, probeBytes)
	for lines.Scan() {
		hooks, ok, err := codexAnswer(lines.Bytes())
		if ok || err != nil {
			return hooks, err
		}
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return nil, errors.Join(errors.New("codex app-server ended without an answer"), lines.Err())
}

// The ids of our two requests.
const (
	codexHello = 1
	codexList  = 2
)

// codexQuestions returns all messages for the server: the handshake, and the request for the hooks.
func codexQuestions(dir string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	for _, message := range []any{
		map[string]any{"id": codexHello, "method": "initialize", "params": map[string]any{
			"clientInfo": map[string]any{"name": mainProgram, "version": "1"}}},
		map[string]any{"method": "initialized"},
		map[string]any{"id": codexList, "method": "hooks/list", "params": map[string]any{"cwds": []string{dir}}},
	} {
		if err := e.Encode(message); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// codexAnswer parses a line of the server. ok reports whether it is the answer to the second
// request.
func codexAnswer(line []byte) (hooks []CodexHook, ok bool, err error) {
	var m struct {
		ID    json.RawMessage `json:"id"`
		Error *struct {
			Message string `json:"message"`
		} `json:"error"`
		Result struct {
			Data []struct {
				Hooks []CodexHook `json:"hooks"`
			} `json:"data"`
		} `json:"result"`
	}
	if json.Unmarshal(line, &m) != nil || string(m.ID) != fmt.Sprint(codexList) {
		return nil, false, nil // a notification, or the answer to the handshake
	}
	if m.Error != nil {
		return nil, true, fmt.Errorf("codex app-server: %.200s", m.Error.Message)
	}
	for _, d := range m.Result.Data {
		hooks = append(hooks, d.Hooks...)
	}
	return hooks, true, nil
}
