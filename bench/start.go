package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Names of the series of the start section.
const (
	nameBareStart  = "bare parallel start, Go"
	nameOpen       = "patchbay Open, Go"
	nameBarePython = "bare parallel start, Python"
	nameOpenPython = "patchbay Open, Python"
)

// pythonScaffold is a small plugin of the scaffold dialect in Python; the interpreter's path goes
// before it.
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
// handshake of the very same files: small plugins in Go, and in Python.
func measureStart(ctx context.Context, e effort) ([]Series, error) {
	dir, err := os.MkdirTemp("", "bench-start-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
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
		err := kind.install(ctx, home)
		if errors.Is(err, errSkip) {
			absent = append(absent, skipAll(err.Error(), kind.bare, kind.open)...)
			continue
		}
		if err != nil {
			return nil, err
		}
		entrants = append(entrants,
			entrant{kind.bare, func(ctx context.Context) ([]float64, error) { return bareStartTurn(ctx, home) }},
			entrant{kind.open, func(ctx context.Context) ([]float64, error) { return openTurn(ctx, home) }})
	}
	series, err := roundRobin(ctx, e.of(25), entrants)
	return append(series, absent...), err
}

// installGo puts startedPlugins names of one small Go program into a home.
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

// installPython writes as many Python plugins.
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

// bareStartTurn times the start; the end goes untimed.
func bareStartTurn(ctx context.Context, dir string) ([]float64, error) {
	start := time.Now()
	started, err := bareStart(ctx, filepath.Join(dir, "scaffold", "plugins"))
	took := millis(time.Since(start))
	if cerr := closeAll(started); err == nil {
		err = cerr
	}
	return []float64{took}, err
}

// openTurn times Open; Close goes untimed.
func openTurn(ctx context.Context, dir string) ([]float64, error) {
	start := time.Now()
	host, err := openHost(ctx, dir, startedPlugins)
	took := millis(time.Since(start))
	if err != nil {
		return nil, err
	}
	return []float64{took}, host.Close()
}
