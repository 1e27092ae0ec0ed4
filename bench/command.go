package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/patchbay-dev/patchbay/bench/drive"
)

// Names of the series of the section about the start of the command.
const (
	nameHello   = "hello-world in Go"
	nameVersion = "patchbay version"
	nameList    = "patchbay plugin list, no plugins"
)

// measureCommand times whole processes, from start to exit, and for comparison one that prints a
// line.
func measureCommand(ctx context.Context, e effort) ([]Series, error) {
	dir, err := os.MkdirTemp("", "bench-command-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	hello, err := buildProgram(ctx, dir, "hello")
	if errors.Is(err, errSkip) {
		return skipAll(err.Error(), nameHello, nameVersion, nameList), nil
	}
	if err != nil {
		return nil, err
	}
	all, err := e.sides()
	if errors.Is(err, errSkip) {
		return skipAll(err.Error(), nameVersion, nameList), nil
	}
	if err != nil {
		return nil, err
	}
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return nil, err
	}
	entrants := []entrant{{nameHello, commandTurn(home, hello)}}
	for i, s := range all {
		program := filepath.Join(dir, fmt.Sprintf("patchbay-%d", i))
		if err := copyProgram(s.program, program); err != nil {
			return nil, err
		}
		entrants = append(entrants,
			entrant{s.prefix + nameVersion, commandTurn(home, program, "version")},
			entrant{s.prefix + nameList, commandTurn(home, program, "plugin", "list")})
	}
	return roundRobin(ctx, e.of(40), entrants)
}

// copyProgram copies a program. A file that a linker has just written is cached in small pages.
// From these a large program starts a fifth slower than from a copy, or from disk after a reboot.
func copyProgram(from, to string) error {
	program, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, program, 0o700)
}

// commandTurn runs a command five times with the given home, and times each run.
func commandTurn(home, program string, args ...string) turn {
	return timedRuns(func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Env, cmd.Dir = drive.Environ(home), home
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s %v: %w: %.300s", filepath.Base(program), args, err, out)
		}
		return nil
	}, 5, 0)
}
