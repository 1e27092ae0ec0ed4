package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/proc"
)

// Names of the series of the standby section.
const (
	nameCold    = "cold start"
	nameStandby = "spare standing by"
)

// pythonPlugin is a usual Python plugin: it has the imports of the examples in the protocol
// documents, reads stdin to its end and answers.
const pythonPlugin = `import datetime, json, os, subprocess, sys
event = json.load(sys.stdin)
sys.stdout.write(json.dumps(event, separators=(",", ":")))
`

// measureStandby compares a process-per-call Python plugin that is started when it is called with
// one that was started in advance and waits on stdin. Between calls there is enough time for the
// next process to start, as in the case for which standby is made.
func measureStandby(ctx context.Context, e effort) ([]Series, error) {
	python, err := findPython(ctx)
	if err != nil {
		return []Series{{Name: nameCold, Skip: err.Error()}, {Name: nameStandby, Skip: err.Error()}}, nil
	}
	dir, err := os.MkdirTemp("", "bench-standby-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	script := filepath.Join(dir, "plugin.py")
	if err := os.WriteFile(script, []byte(pythonPlugin), 0o600); err != nil {
		return nil, err
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	return coldAndWarm(ctx, e, proc.Spec{Path: python, Args: []string{script}, Dir: dir, Env: env})
}

// coldAndWarm measures one program without and with standby.
func coldAndWarm(ctx context.Context, e effort, spec proc.Spec) (series []Series, err error) {
	payload := payloadOf(smallCall)
	group := proc.NewGroup(nil)
	defer func() {
		if cerr := group.Close(); err == nil {
			err = cerr
		}
	}()
	cold := runOnce(group.Run, spec, payload)
	standby := group.Standby(spec, 1)
	defer standby.Close()
	warm := func(ctx context.Context) error {
		result, err := standby.Run(ctx, callWith(payload))
		return checkResult(result, err, payload)
	}

	think, err := thinkTime(ctx, cold)
	if err != nil {
		return nil, err
	}
	const batch = 3
	return roundRobin(ctx, e.of(15), []entrant{
		{nameCold, timedRuns(cold, batch, think)},
		{nameStandby, timedRuns(warm, batch, think)},
	})
}

// thinkTime returns four times the duration of a cold start, so that a process started at one call
// is ready at the next.
func thinkTime(ctx context.Context, cold func(context.Context) error) (time.Duration, error) {
	samples, err := timedRuns(cold, 5, 0)(ctx)
	if err != nil {
		return 0, err
	}
	return time.Duration(4 * median(samples) * float64(time.Millisecond)), nil
}

// findPython returns the real interpreter: python3 on the path may be a shim that costs more to
// start than Python itself.
func findPython(ctx context.Context) (string, error) {
	shim, err := exec.LookPath("python3")
	if err != nil {
		return "", errors.New("no python3 on the path")
	}
	out, err := exec.CommandContext(ctx, shim, "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		return "", fmt.Errorf("python3 does not run: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
