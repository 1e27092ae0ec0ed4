package hookinstall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// A Prober runs the programs that agents would run, and checks their answers.
type Prober struct {
	Environ []string
	Dir     string // the project
	Logger  *slog.Logger
}

// The limits of a probe.
const (
	probeTime  = 30 * time.Second
	probeGrace = 2 * time.Second
	probeBytes = 1 << 20
)

// A Proof is the result of a probe.
type Proof struct {
	Event string        `json:"event"` // the event that was sent
	Took  time.Duration `json:"-"`
	Fault *Fault        `json:"-"` // nil: the agent gets a valid answer
}

// Probe sends an installed program the event that precedes a tool call, as the agent would. The
// tool call is never made; its command would print one word, and no plugin has a reason to refuse
// it. Plugins are called, and can see by the id that the session is Patchbay's own.
func (p Prober) Probe(ctx context.Context, in Installed) Proof {
	i := slices.IndexFunc(in.Entries, func(e Entry) bool { return asksBefore(in.Place.Agent, e.Event) })
	if i < 0 {
		return Proof{Fault: &Fault{"there is no entry for tool calls", "`" + installCommand(in.Place) + "`"}}
	}
	entry := in.Entries[i]
	proof := Proof{Event: entry.Event}
	input, err := sampleEvent(in.Place.Agent, entry.Event, p.Dir)
	if err != nil {
		proof.Fault = &Fault{err.Error(), ""}
		return proof
	}
	began := time.Now()
	answer, err := p.run(ctx, entry.Started, input)
	proof.Took = time.Since(began)
	if err == nil {
		err = checkAnswer(in.Place.Agent, answer)
	}
	if err != nil {
		proof.Fault = &Fault{fmt.Sprintf("%s: %v", strings.Join(entry.Started, " "), err),
			"run the command by hand to see its output; `" + installCommand(in.Place) + " --uninstall` removes Patchbay's entries"}
	}
	return proof
}

// asksBefore reports whether an event comes before a tool call.
func asksBefore(agent codehook.Agent, event string) bool {
	return slices.ContainsFunc(codehook.Events(agent), func(s codehook.EventSpec) bool {
		return s.Name == event && slices.Contains(s.Points, hook.ToolBefore)
	})
}

func (p Prober) run(ctx context.Context, started []string, input []byte) (codehook.Answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, probeTime, fmt.Errorf("no answer in %s", probeTime))
	defer cancel()
	group := proc.NewGroup(p.Logger)
	defer func() {
		if err := group.Close(); err != nil {
			p.Logger.Warn("a probe did not end well", "err", err)
		}
	}()
	r, err := group.Run(ctx, proc.Spec{Path: started[0], Args: started[1:], Dir: p.Dir, Env: p.Environ},
		proc.Call{Stdin: input, MaxStdout: probeBytes, Grace: probeGrace})
	if err != nil {
		return codehook.Answer{}, err
	}
	return codehook.Answer{Stdout: string(r.Stdout), Stderr: r.Stderr, ExitCode: r.Exit.Code}, nil
}

// sampleEvent returns the event that an agent sends before a command that prints a word.
func sampleEvent(agent codehook.Agent, event, dir string) ([]byte, error) {
	const session, call = codehook.ProbeSession, "call-1"
	arguments := map[string]any{"command": "echo patchbay"}
	fields := map[string]any{"session_id": session, "cwd": dir, "hook_event_name": event, "tool_name": "Bash",
		"tool_input": arguments, "tool_use_id": call}
	switch agent {
	case codehook.Gemini, codehook.Qwen:
		fields["tool_name"] = "run_shell_command"
	case codehook.Cursor:
		fields["tool_name"] = "Shell"
		fields["conversation_id"], fields["generation_id"], fields["workspace_roots"] = session, call, []string{dir}
	case codehook.OpenCode:
		return jsonLine(map[string]any{"id": 1, "event": event, "dir": dir,
			"input": map[string]any{"tool": "bash", "sessionID": session, "callID": call}, "output": map[string]any{"args": arguments}})
	}
	return jsonLine(fields)
}

func jsonLine(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	return append(text, '\n'), err
}

// checkAnswer checks that an answer to a harmless event is valid for the agent.
func checkAnswer(agent codehook.Agent, a codehook.Answer) error {
	if a.ExitCode != 0 {
		return fmt.Errorf("it ended with exit code %d: %s", a.ExitCode, strings.TrimSpace(a.Stderr+a.Stdout))
	}
	text := strings.TrimSpace(a.Stdout)
	if text == "" {
		if agent == codehook.Cursor || agent == codehook.OpenCode {
			return errors.New("it printed nothing, which counts as a failure")
		}
		return nil
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	var object map[string]json.RawMessage
	if err := d.Decode(&object); err != nil {
		return fmt.Errorf("it did not print a JSON object: %.200q", text)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("it printed more than one JSON object: %.200q", text)
	}
	return nil
}
