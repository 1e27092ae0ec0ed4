package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// invocationVariable holds the invocation of a command whose stdin is the user's.
const invocationVariable = "MINE_INVOCATION"

// An invocation is the envelope of mine.
type invocation struct {
	Version string          `json:"protocol_version"`
	Type    string          `json:"type"`
	Stage   string          `json:"stage"`
	Mode    string          `json:"mode"`
	Event   string          `json:"event"`
	Command string          `json:"command"`
	Args    []string        `json:"args"`
	Context json.RawMessage `json:"context"`
}

// parseInvocation reads an envelope; ok is false if it is something else.
func parseInvocation(data []byte) (in invocation, ok bool) {
	err := json.Unmarshal(data, &in)
	return in, err == nil && in.Version != "" && in.Type != ""
}

// userCommand reads the invocation of a command whose stdin is the user's.
func (s *session) userCommand(data []byte) (in invocation, ok bool) {
	in, ok = parseInvocation(data)
	c := s.plugin.command(in.Command)
	return in, ok && in.Type == "command" && c != nil && c.userStdin
}

// mine answers one invocation. stdin is nil if it was the invocation.
func (s *session) mine(ctx context.Context, in invocation, stdin io.Reader) int {
	s.dialect = Mine
	ctx = with(ctx, Call{Dialect: Mine})
	major, _, _ := strings.Cut(in.Version, ".")
	switch {
	case major != "1":
		return s.fail(&Error{"unsupported protocol version " + in.Version + ": this plugin speaks 1.0.0", "UNSUPPORTED_PROTOCOL_VERSION"})
	case !s.plugin.speaks(Mine):
		return s.fail(s.plugin.unspoken(Mine))
	}
	switch in.Type {
	case "hook":
		return s.mineHook(ctx, in)
	case "command":
		return s.mineCommand(ctx, in, stdin)
	case "lifecycle":
		return s.mineLifecycle(ctx, in.Event)
	}
	return s.fail(fmt.Errorf("unknown type of invocation %.100q", in.Type))
}

var mineStages = map[string]string{"prevalidate": "command.validate", "preexec": "command.before", "postexec": "command.after", "notify": "command.done"}

func (s *session) mineHook(ctx context.Context, in invocation) int {
	point := mineStages[in.Stage]
	if len(s.plugin.handlers[point]) == 0 {
		return s.fail(fmt.Errorf("%s has no handler of the stage %.100q: write its manifest again with %q", s.plugin.name, in.Stage, s.program()+" manifest mine"))
	}
	var c struct {
		CommandEvent
		Timestamp string `json:"timestamp"`
	}
	if err := json.Unmarshal(in.Context, &c); err != nil {
		return s.fail(fmt.Errorf("the context: %w", decoding(err)))
	}
	e := c.CommandEvent
	if at, err := time.Parse(time.RFC3339, c.Timestamp); err == nil {
		e.Timestamp = at
	}
	if e.Flags == nil {
		e.Flags = map[string]string{}
	}
	s.stderr.holding = true
	if err := s.begin(ctx, nil, nil); err != nil {
		return s.fail(err)
	}
	s.running.Add(1)
	v := s.plugin.ask(ctx, point, &e, e.Command)
	s.running.Add(-1)
	s.end(ctx)
	return s.mineVerdict(v, in, &e, c.Timestamp)
}

func (s *session) mineVerdict(v Verdict, in invocation, e *CommandEvent, timestamp string) int {
	switch v.kind {
	case kindFail:
		return s.fail(v.err)
	case kindDeny:
		return s.fail(&Error{v.refusal(), "DENIED"})
	}
	s.stderr.release()
	switch {
	case in.Mode == "notify":
		return exitOK // the host does not read stdout
	case v.kind != kindModify:
		return s.say(object{{"status", "ok"}}, exitOK)
	}
	flags := object{}
	for _, name := range sortedKeys(e.Flags) {
		flags = append(flags, field{name, e.Flags[name]})
	}
	return s.say(object{{"status", "ok"}, {"context", object{{"command", e.Command}, {"args", list(e.Args)}, {"flags", flags},
		{"result", e.Result}, {"timestamp", timestamp}}}}, exitOK)
}

// fail writes mine's error object to stderr, with the log inside it: a host recognizes the object
// only if stderr has nothing else.
func (s *session) fail(err error) int {
	out := object{{"status", "error"}, {"error", err.Error()}}
	if code := codeOf(err); code != "" {
		out = append(out, field{"code", code})
	}
	if log := s.stderr.take(); log != "" {
		out = append(out, field{"log", list(strings.Split(strings.TrimSuffix(log, "\n"), "\n"))})
	}
	text, merr := marshal(out)
	if merr != nil {
		text = []byte(merr.Error())
	}
	_, _ = s.stderr.Write(append(text, '\n')) // the exit code reports it too
	return exitFailed
}

func (s *session) mineCommand(ctx context.Context, in invocation, stdin io.Reader) int {
	c := s.plugin.command(in.Command)
	if c == nil {
		return s.fail(&Error{fmt.Sprintf("%s has no command %.100q; there are %s", s.plugin.name, in.Command, quoteAll(s.plugin.commandNames())), "UNKNOWN_COMMAND"})
	}
	if s.process.direct != nil {
		s.process.direct() // a command's output is for the user
	}
	if err := s.begin(ctx, nil, nil); err != nil {
		return s.fail(err)
	}
	if stdin == nil {
		stdin = strings.NewReader("")
	}
	call := &CommandCall{Args: in.Args, Stdin: stdin, Stdout: s.process.Stdout, Stderr: s.process.Stderr}
	s.running.Add(1)
	err := s.guarded(ctx, in.Command, func(ctx context.Context) error { return c.run(ctx, call) })
	s.running.Add(-1)
	s.end(ctx)
	if err != nil {
		return s.fail(err)
	}
	return exitOK
}

// mineLifecycle handles lifecycle events. init and shutdown need no answer, because each process
// begins and ends by itself.
func (s *session) mineLifecycle(ctx context.Context, event string) int {
	if event != "health" {
		return exitOK
	}
	if err := errors.Join(s.begin(ctx, nil, nil), s.healthy(ctx)); err != nil {
		return s.fail(err)
	}
	s.end(ctx)
	return s.say(object{{"status", "ok"}}, exitOK)
}
