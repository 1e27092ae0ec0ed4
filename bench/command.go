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

// measureCommand times whole processes, from start to end, beside one that prints a line.
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
	for _, s := range all {
		entrants = append(entrants,
			entrant{s.prefix + nameVersion, commandTurn(home, s.program, "version")},
			entrant{s.prefix + nameList, commandTurn(home, s.program, "plugin", "list")})
	}
	return roundRobin(ctx, e.of(40), entrants)
}

// commandTurn runs a command five times, in a home of its own, and times each.
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
