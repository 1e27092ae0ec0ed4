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

// A ShellRequest is a command line that a person runs beside a conversation.
type ShellRequest struct {
	Session session.Session
	Line    string
	Plugins []string // as in [TurnRequest]
}

// shellSeconds is how long such a command may take: as long as the tool lets any.
const shellSeconds = 600

// Shell runs a command of the person's own in the session's working directory, through the command
// points, as `patchbay run` does. It returns what the command printed and how it ended. The error
// says why it did not run: a plugin's refusal is a [*command.Refused].
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

// A shellProgram is the command line as the pipeline runs it. Plugins see a simple command as the
// program and its arguments, and what they make of these is run; any other line is an argument of
// sh.
type shellProgram struct {
	tool    *chat.Tool
	session session.Session
	line    string
	program string // as it was written, which may be a path; "": the line is no simple command
	asked   command.Command
	output  string
}

func newShellProgram(tool *chat.Tool, r ShellRequest) *shellProgram {
	p := &shellProgram{tool: tool, session: r.Session, line: r.Line, asked: command.Command{Name: "sh", Args: []string{"-c", r.Line}}}
	if words, ok := approval.Words(r.Line); ok {
		p.program = words[0]
		p.asked = command.Command{Name: filepath.Base(words[0]), Args: words[1:]}
	}
	return p
}

// lineOf is the line that is run for a command as plugins left it: the person's own, where they
// changed nothing.
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

// Parse leaves the arguments alone.
func (p *shellProgram) Parse(ctx context.Context, c command.Command, then func(context.Context, command.Command) error) error {
	return then(ctx, c)
}

// shellResult is a command's result, as plugins see it: both outputs came together.
type shellResult struct {
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	ExitCode int    `json:"exit_code"`
}

// Execute runs the line with the shell tool, which bounds it and its output.
func (p *shellProgram) Execute(ctx context.Context, c command.Command, _ bool) (json.RawMessage, error) {
	arguments, err := json.Marshal(map[string]any{"cmd": p.lineOf(c), "timeout": shellSeconds})
	if err != nil {
		return nil, err
	}
	result, err := p.tool.Run(ctx, chat.Call{ID: "shell", Session: p.session, Arguments: arguments, Progress: func(string) {}})
	if err != nil {
		return nil, err
	}
	p.output = result.Output
	return json.Marshal(shellResult{Stdout: result.Output, ExitCode: exitCode(result)})
}

// exitCode is the code in the words of the tool, and 1 for an end without one.
func exitCode(r chat.ToolResult) int {
	code := 0
	if _, err := fmt.Sscanf(r.Error, "exit code %d", &code); err != nil && !r.Success {
		code = 1
	}
	return code
}

// Show takes a result that plugins changed, or brought in the command's place.
func (p *shellProgram) Show(c command.Command) error {
	var result shellResult
	if err := json.Unmarshal(c.Result, &result); err != nil {
		if json.Unmarshal(c.Result, &p.output) != nil {
			p.output = string(c.Result)
		}
		return nil
	}
	p.output = result.Stdout + result.Stderr
	return nil
}
