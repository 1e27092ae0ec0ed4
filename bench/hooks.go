package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/patchbay-dev/patchbay/bench/drive"
)

// Names of the series of the section about hooks of other agents.
const (
	nameHookHello  = "hello-world in Go, bare spawn"
	nameHookOff    = "patchbay-hook, switched off"
	nameHookNone   = "patchbay-hook, warm daemon, no plugin"
	nameHookGuard  = "patchbay-hook, warm daemon, one scaffold plugin"
	nameHookPython = "a hook in Python that does the same"
	nameHookNode   = "a hook in Node that does the same"
)

// hookEvent is an event of Claude Code before a tool runs.
const hookEvent = `{"session_id":"7a1c2f4e-5f1c-4127-bde5-f2af1a0447ef","transcript_path":"/tmp/x.jsonl","cwd":%q,"prompt_id":"7cbdcdd2-bff4-4593-9a44-b8a6a905e52a",` +
	`"permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"go test ./... 2>&1 | tail -n 20","description":"Run the tests"},"tool_use_id":"toolu_0123"}`

// pythonEvent and nodeEvent inspect a command and allow it, in the way that people write such
// hooks.
const (
	pythonEvent = `import json, re, sys
event = json.load(sys.stdin)
if re.search(r"\brm\s+-rf\b", event["tool_input"].get("command", "")):
    print("no", file=sys.stderr)
    sys.exit(2)
`
	nodeEvent = `let text = "";
process.stdin.on("data", (piece) => { text += piece; });
process.stdin.on("end", () => {
  const event = JSON.parse(text);
  if (/\brm\s+-rf\b/.test(event.tool_input.command || "")) {
    console.error("no");
    process.exitCode = 2;
  }
});
`
)

// measureHooks times how long an agent waits for a hook: for a process from its start to its exit,
// with an event on stdin.
func measureHooks(ctx context.Context, e effort) (series []Series, err error) {
	dir, err := os.MkdirTemp("", "bench-hooks-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	hello, err := buildProgram(ctx, dir, "hello")
	if errors.Is(err, errSkip) {
		return skipAll(err.Error(), nameHookHello, nameHookOff, nameHookNone, nameHookGuard), nil
	}
	if err != nil {
		return nil, err
	}
	thin := filepath.Join(filepath.Dir(e.program), "patchbay-hook")
	if _, err := os.Stat(thin); err != nil {
		return skipAll(fmt.Sprintf("%v: `make bench` builds it", err), nameHookOff, nameHookNone, nameHookGuard), nil
	}
	hook := []string{thin, "claude", "--event", "PreToolUse"}
	entrants := []entrant{
		{nameHookHello, hookTurn(dir, []string{hello})},
		{nameHookOff, hookTurn(dir, hook, "PATCHBAY_HOOK=off")},
	}
	for _, kind := range []struct {
		name  string
		guard bool
	}{{nameHookNone, false}, {nameHookGuard, true}} {
		home, end, herr := hookHome(ctx, e.program, filepath.Join(dir, fmt.Sprint("home-", kind.guard)), kind.guard)
		if herr != nil {
			return nil, herr
		}
		defer func() { err = errors.Join(err, end()) }() // the result of measureHooks
		entrants = append(entrants, entrant{kind.name, hookTurn(home, hook)})
	}
	others, absent := otherHooks(ctx, dir)
	series, err = roundRobin(ctx, e.of(40), append(entrants, others...))
	return append(series, absent...), err
}

// hookHome makes a home and starts a daemon on it, with one plugin if guard is true.
func hookHome(ctx context.Context, program, home string, guard bool) (string, func() error, error) {
	if err := os.MkdirAll(filepath.Join(home, ".git"), 0o700); err != nil {
		return "", nil, err
	}
	if guard {
		plugins, err := pluginsDir(home)
		if err != nil {
			return "", nil, err
		}
		built, err := buildProgram(ctx, home, "plugin")
		if err != nil {
			return "", nil, err
		}
		if err := linkOrCopy(built, filepath.Join(plugins, "guard")); err != nil {
			return "", nil, err
		}
	}
	daemon, err := drive.Start(ctx, program, home)
	if err != nil {
		return "", nil, err
	}
	return home, daemon.Stop, nil
}

// otherHooks returns the hooks in Python and Node, if there is an interpreter.
func otherHooks(ctx context.Context, dir string) ([]entrant, []Series) {
	var all []entrant
	var absent []Series
	for _, kind := range []struct{ name, file, text, program string }{
		{nameHookPython, "hook.py", pythonEvent, "python3"}, {nameHookNode, "hook.js", nodeEvent, "node"},
	} {
		path, err := exec.LookPath(kind.program)
		if kind.program == "python3" && err == nil {
			path, err = findPython(ctx)
		}
		file := filepath.Join(dir, kind.file)
		if err == nil {
			err = os.WriteFile(file, []byte(kind.text), 0o600)
		}
		if err != nil {
			absent = append(absent, Series{Name: kind.name, Skip: err.Error()})
			continue
		}
		all = append(all, entrant{kind.name, hookTurn(dir, []string{path, file})})
	}
	return all, absent
}

// hookTurn returns a turn that runs a hook ten times, as an agent does.
func hookTurn(home string, command []string, environ ...string) turn {
	event := fmt.Appendf(nil, hookEvent, home)
	return timedRuns(func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Env, cmd.Dir, cmd.Stdin = append(drive.Environ(home), environ...), home, bytes.NewReader(event)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w: %.300s", command, err, out)
		}
		return nil
	}, 10, 0)
}
