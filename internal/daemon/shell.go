package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/adapter/command"
	"github.com/patchbay-dev/patchbay/internal/approval"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// A ShellRequest is a command line that a user runs within a conversation.
type ShellRequest struct {
	Session session.Session
	Line    string
	Plugins []string // as in [TurnRequest]

	Progress func(output string) // is called with each piece of the output; nil: with none
}

// shellSeconds is the timeout of such a command: the longest that the shell tool allows.
const shellSeconds = 600

// Shell runs a user's command in the session's working directory. It fires the points of a command,
// as `patchbay run` does. It returns the output of the command; if the command failed, the output
// says so. The error says why the command did not run; a plugin's refusal is a [*command.Refused].
func (c *Core) Shell(ctx context.Context, r ShellRequest) (string, error) {
	i := slices.IndexFunc(c.tools, func(t chat.Tool) bool { return t.Name == "shell" })
	if i < 0 {
		return "", errors.New("there is no shell here")
	}
	ctx = scoped(ctx, r.Session, r.Plugins)
	host, done, err := c.projects.in(ctx, r.Session.WorkingDir)
	if err != nil {
		return "", err
	}
	defer done()
	p := newShellProgram(&c.tools[i], r)
	err = (&command.Pipeline{Host: host}).Run(ctx, p.asked, p)
	return p.output, err
}

// A shellProgram is the command line for the pipeline. Plugins see a simple command as program and
// arguments, which they may change. Any other line is an argument of sh.
type shellProgram struct {
	tool    *chat.Tool
	session session.Session
	line    string
	show    func(string)
	program string // as the user wrote it, possibly a path; "": not a simple command
	asked   command.Command
	output  string
}

func newShellProgram(tool *chat.Tool, r ShellRequest) *shellProgram {
	p := &shellProgram{tool: tool, session: r.Session, line: r.Line, show: r.Progress, asked: command.Command{Name: "sh", Args: []string{"-c", r.Line}}}
	if p.show == nil {
		p.show = func(string) {}
	}
	if words, ok := approval.Words(r.Line); ok {
		p.program = words[0]
		p.asked = command.Command{Name: filepath.Base(words[0]), Args: words[1:]}
	}
	return p
}

// lineOf returns the line to run for a command that plugins may have changed. Without a change it
// is the user's own line.
func (p *shellProgram) lineOf(c command.Command) string {
	switch {
	case c.Name == p.asked.Name && slices.Equal(c.Args, p.asked.Args):
		return p.line
	case p.program == "" && c.Name == "sh" && len(c.Args) == 2 && c.Args[0] == "-c":
		return c.Args[1]
	}
	name := c.Name
	if c.Name == p.asked.Name && p.program != "" {
		name = p.program
	}
	return approval.Join(append([]string{name}, c.Args...))
}

// Parse does nothing with the arguments.
func (p *shellProgram) Parse(ctx context.Context, c command.Command, then func(context.Context, command.Command) error) error {
	return then(ctx, c)
}

// A shellResult is a command's result for plugins. Stdout contains both outputs.
type shellResult struct {
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	ExitCode int    `json:"exit_code"`
}

// Execute runs the line with the shell tool, which limits its time and output.
func (p *shellProgram) Execute(ctx context.Context, c command.Command, _ bool) (json.RawMessage, error) {
	arguments, err := json.Marshal(map[string]any{"cmd": p.lineOf(c), "timeout": shellSeconds})
	if err != nil {
		return nil, err
	}
	result, err := p.tool.Run(ctx, chat.Call{ID: "shell", Session: p.session, Arguments: arguments, Progress: p.show})
	if err != nil {
		return nil, err
	}
	p.output = result.Output
	return json.Marshal(shellResult{Stdout: result.Output, ExitCode: exitCode(result)})
}

// exitCode returns the exit code in the tool's error, or 1 if the command failed without one.
func exitCode(r chat.ToolResult) int {
	code := 0
	if _, err := fmt.Sscanf(r.Error, "exit code %d", &code); err != nil && !r.Success {
		code = 1
	}
	return code
}

// Show takes the output from the result, which plugins may have changed or replaced.
func (p *shellProgram) Show(c command.Command) error {
	var result shellResult
	if err := json.Unmarshal(command.Exact(c.Result, "stdout", "stderr", "exit_code"), &result); err != nil {
		if json.Unmarshal(c.Result, &p.output) != nil {
			p.output = string(c.Result)
		}
		return nil
	}
	p.output = result.Stdout + result.Stderr
	return nil
}
