package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// startedPlugins is how many plugins are started at once: the most that the scaffold protocol
// allows in a host.
const startedPlugins = 16

// Names of the series of the start section.
const (
	nameBareStart  = "bare parallel start, Go"
	nameOpen       = "patchbay Open, Go"
	nameBarePython = "bare parallel start, Python"
	nameOpenPython = "patchbay Open, Python"
)

// pythonScaffold is a small plugin of the scaffold dialect in Python, without its first line, the
// path of the interpreter.
const pythonScaffold = `
import json, os, sys
answers = {
    "initialize": {"name": os.path.basename(sys.argv[0]), "version": "1.0.0", "description": "does nothing", "hooks": ["post_user_input"], "tools": [], "priority": 500},
    "shutdown": {"ok": True},
}
for line in sys.stdin:
    request = json.loads(line)
    answer = answers.get(request["method"], {"action": "continue"})
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": answer}), flush=True)
`

// measureStart compares Open (discovery, trust, start, handshake, wiring) with the bare start and
// handshake of the same files: small plugins in Go and in Python. The program in opener does both,
// one after the other.
func measureStart(ctx context.Context, e effort) (series []Series, err error) {
	dir, err := os.MkdirTemp("", "bench-start-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "opener")
	_, err = goTool(ctx, filepath.Join(e.source, "bench"), nil, "build", "-trimpath", "-o", program, "./opener")
	if errors.Is(err, errSkip) {
		return skipAll(err.Error(), nameBareStart, nameOpen, nameBarePython, nameOpenPython), nil
	}
	if err != nil {
		return nil, err
	}
	var entrants []entrant
	var absent []Series
	for _, kind := range []struct {
		dir, bare, open string
		install         func(context.Context, string) error
	}{
		{"go", nameBareStart, nameOpen, installGo},
		{"python", nameBarePython, nameOpenPython, installPython},
	} {
		home := filepath.Join(dir, kind.dir)
		ierr := kind.install(ctx, home)
		if errors.Is(ierr, errSkip) {
			absent = append(absent, skipAll(ierr.Error(), kind.bare, kind.open)...)
			continue
		}
		if ierr != nil {
			return nil, ierr
		}
		o, oerr := startOpener(ctx, program, home)
		if oerr != nil {
			return nil, oerr
		}
		defer func() { err = errors.Join(err, o.Close()) }() // the result of measureStart
		entrants = append(entrants, entrant{kind.bare, o.turn("bare")}, entrant{kind.open, o.turn("open")})
	}
	series, err = roundRobin(ctx, e.of(25), entrants)
	return append(series, absent...), err
}

// An opener is a running program of the folder opener.
type opener struct {
	*child
	answers *bufio.Reader
}

// startOpener starts a program that will start the plugins in home.
func startOpener(ctx context.Context, program, home string) (*opener, error) {
	cmd := exec.Command(program, home, strconv.Itoa(startedPlugins))
	cmd.Stderr = os.Stderr
	c, err := startPiped(ctx, cmd)
	if err != nil {
		return nil, err
	}
	return &opener{c, bufio.NewReader(c.out)}, nil
}

// turn returns a turn that starts the plugins once, in one of the two ways.
func (o *opener) turn(way string) func(context.Context) ([]float64, error) {
	return func(context.Context) ([]float64, error) {
		if _, err := o.in.WriteString(way + "\n"); err != nil {
			return nil, err
		}
		line, err := o.answers.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("the opener ended: %w", err)
		}
		took, err := strconv.ParseFloat(strings.TrimSpace(line), 64)
		return []float64{took}, err
	}
}

// installGo builds a small Go plugin and installs it under startedPlugins names in a home.
func installGo(ctx context.Context, home string) error {
	plugins, err := pluginsDir(home)
	if err != nil {
		return err
	}
	program, err := buildProgram(ctx, home, "plugin")
	if err != nil {
		return err
	}
	for i := range startedPlugins {
		if err := linkOrCopy(program, pluginPath(plugins, i)); err != nil {
			return err
		}
	}
	return nil
}

// installPython writes startedPlugins Python plugins into a home.
func installPython(ctx context.Context, home string) error {
	python, err := findPython(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", errSkip, err)
	}
	plugins, err := pluginsDir(home)
	if err != nil {
		return err
	}
	for i := range startedPlugins {
		if err := os.WriteFile(pluginPath(plugins, i), []byte("#!"+python+pythonScaffold), 0o700); err != nil {
			return err
		}
	}
	return nil
}

func pluginsDir(home string) (string, error) {
	plugins := filepath.Join(home, "scaffold", "plugins")
	return plugins, os.MkdirAll(plugins, 0o700)
}

func pluginPath(plugins string, i int) string {
	return filepath.Join(plugins, fmt.Sprintf("%s%02d", scaffoldPrefix, i))
}
