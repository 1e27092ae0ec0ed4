package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	// envChild says which plugin process this program runs as.
	envChild = "BENCH_CHILD"
	// scaffoldPrefix starts the file name of a scaffold plugin. Patchbay gives plugins a clean
	// environment and no arguments, so a child learns only from its file name what to run as.
	scaffoldPrefix = "bench-plugin-"
)

// childName returns which plugin process this process runs as; empty: none.
func childName() string {
	switch name := filepath.Base(os.Args[0]); {
	case strings.HasPrefix(name, faultPrefix):
		return "fault"
	case strings.HasPrefix(name, kagedPrefix):
		return "kaged"
	case strings.HasPrefix(name, quickPrefix):
		return "quick"
	case strings.HasPrefix(name, scaffoldPrefix), strings.HasPrefix(name, watcherPrefix), strings.HasPrefix(name, editorPrefix):
		return "scaffold"
	case name == connectorPrefix:
		return "connector"
	}
	return os.Getenv(envChild)
}

// runChild is main in a plugin process.
func runChild(name string) error {
	serve, ok := children()[name]
	if !ok {
		return fmt.Errorf("%s=%q names no child", envChild, name)
	}
	return serve()
}

// childCommand returns the command that runs this program as the named plugin process.
func childCommand(name string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), envChild+"="+name)
	return cmd, nil
}

// child is a started plugin process and the host's ends of its pipes.
type child struct {
	in  *os.File // the child's stdin
	out *os.File // the child's stdout
	cmd *exec.Cmd
}

// startChild starts the named plugin process on os.Pipe pipes.
func startChild(ctx context.Context, name string) (*child, error) {
	cmd, err := childCommand(name)
	if err != nil {
		return nil, err
	}
	return startPiped(ctx, cmd)
}

// startPiped starts cmd with its stdin and stdout on fresh pipes.
func startPiped(ctx context.Context, cmd *exec.Cmd) (*child, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	stdin, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		stdin.Close()
		in.Close()
		return nil, err
	}
	widen(in)
	widen(out)
	cmd.Stdin, cmd.Stdout = stdin, stdout
	err = cmd.Start()
	stdin.Close()
	stdout.Close()
	if err != nil {
		in.Close()
		out.Close()
		return nil, err
	}
	return &child{in: in, out: out, cmd: cmd}, nil
}

// Close closes the child's stdin, at which every child exits, and waits for the exit.
func (c *child) Close() error {
	if c == nil {
		return nil
	}
	c.in.Close()
	_, err := io.Copy(io.Discard, c.out)
	c.out.Close()
	if werr := c.cmd.Wait(); werr != nil {
		return werr
	}
	// The owner of the pipes may have closed them already.
	if err != nil && !strings.Contains(err.Error(), os.ErrClosed.Error()) {
		return err
	}
	return nil
}
