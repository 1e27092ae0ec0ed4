package plugin

import (
	"context"
	"io"
)

// A command is a plugin's own command (mine).
type command struct {
	name, description, args string

	userStdin bool
	run       func(ctx context.Context, c *CommandCall) error
}

// A CommandCall is one run of a command. Stdout and Stderr are the user's.
type CommandCall struct {
	Args   []string // as typed, flags included
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
}

// Command adds a command that people run: `patchbay PLUGIN NAME ARG…` (mine). Its output is shown
// unchanged. An error is shown too, with exit code 1.
func (p *Plugin) Command(name, description string, run func(ctx context.Context, c *CommandCall) error, with ...Option) {
	o := p.gather(name, with, options{argsHelp: "…", userStdin: true})
	c := &command{name: name, description: description, run: run, args: o.argsHelp, userStdin: o.userStdin}
	if !validWord.MatchString(name) {
		p.fault("command %q: the name must be one word that does not begin with a hyphen", name)
	}
	if p.command(name) != nil {
		p.fault("there are two commands %q", name)
	}
	p.commands = append(p.commands, c)
}

func (p *Plugin) command(name string) *command {
	for _, c := range p.commands {
		if c.name == name {
			return c
		}
	}
	return nil
}

func (p *Plugin) commandNames() []string {
	var out []string
	for _, c := range p.commands {
		out = append(out, c.name)
	}
	return out
}
