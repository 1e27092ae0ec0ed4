package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// sources are the programs that are built for a run. This program is too large to represent a
// plugin or a hello-world.
//
//go:embed programs/hello/main.go programs/plugin/main.go programs/byhand/main.go programs/sdk/main.go
var sources embed.FS

// buildProgram builds one of the sources in a directory, and returns the path of the program.
// modules are lines of its go.mod.
func buildProgram(ctx context.Context, dir, name string, modules ...string) (string, error) {
	text, err := sources.ReadFile("programs/" + name + "/main.go")
	if err != nil {
		return "", err
	}
	source := filepath.Join(dir, "source-"+name)
	if err := os.MkdirAll(source, 0o700); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(source, "main.go"), text, 0o600); err != nil {
		return "", err
	}
	module := strings.Join(append([]string{"module bench/" + name, "go 1.26"}, modules...), "\n") + "\n"
	if err := os.WriteFile(filepath.Join(source, "go.mod"), []byte(module), 0o600); err != nil {
		return "", err
	}
	program := filepath.Join(dir, name)
	_, err = goTool(ctx, source, nil, "build", "-trimpath", "-o", program, ".")
	return program, err
}

// goTool runs the go command in a directory, with variables added, and returns what it prints.
func goTool(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	tool, err := exec.LookPath("go")
	if err != nil {
		return "", fmt.Errorf("%w: no go on the path to build with", errSkip)
	}
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GOWORK=off"), env...)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("go %v in %s: %w: %.500s", args, dir, err, exit.Stderr)
	}
	return string(out), err
}
