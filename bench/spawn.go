package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/patchbay-dev/patchbay/internal/proc"
)

// Names of the series of the spawn section.
const (
	nameBareSpawn = "bare spawn"
	nameRun       = "patchbay process per call"
)

// measureSpawn compares a process per call as Patchbay runs it (own process group, limited output,
// ended by the guardian) with the least that os/exec can do. cat does no work, so Patchbay causes
// all of the difference.
func measureSpawn(ctx context.Context, e effort) ([]Series, error) {
	path, err := exec.LookPath("cat")
	if err != nil {
		skip := "no cat on this machine"
		return []Series{{Name: nameBareSpawn, Skip: skip}, {Name: nameRun, Skip: skip}}, nil
	}
	payload := payloadOf(smallCall)
	env := []string{"PATH=" + os.Getenv("PATH")}
	group := proc.NewGroup(nil)
	ours := runOnce(group.Run, proc.Spec{Path: path, Env: env}, payload)
	bare := func(ctx context.Context) error { return bareSpawn(ctx, path, env, payload) }

	const batch = 10
	series, err := roundRobin(ctx, e.of(40), []entrant{
		{nameBareSpawn, timedRuns(bare, batch, 0)},
		{nameRun, timedRuns(ours, batch, 0)},
	})
	if cerr := group.Close(); err == nil {
		err = cerr
	}
	return series, err
}

// bareSpawn runs a program once: it writes and closes stdin, reads stdout to its end, and waits for
// the exit.
func bareSpawn(ctx context.Context, path string, env []string, payload []byte) error {
	cmd := exec.CommandContext(ctx, path)
	cmd.Env = env
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if _, err := stdin.Write(payload); err != nil {
		return err
	}
	if err := stdin.Close(); err != nil {
		return err
	}
	reply, err := io.ReadAll(stdout)
	if err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return err
	}
	return checkEcho(payload, reply)
}

// runOnce returns a function that makes one call through run.
func runOnce(run func(context.Context, proc.Spec, proc.Call) (*proc.Result, error), s proc.Spec, payload []byte) func(context.Context) error {
	return func(ctx context.Context) error {
		result, err := run(ctx, s, callWith(payload))
		return checkResult(result, err, payload)
	}
}

// callWith limits a call as a dialect would. The limits are never reached here.
func callWith(payload []byte) proc.Call {
	return proc.Call{Stdin: payload, MaxStdout: 4 << 20, Grace: 5 * time.Second}
}

// checkResult checks that the process succeeded and returned the payload.
func checkResult(result *proc.Result, err error, payload []byte) error {
	if err != nil {
		return err
	}
	if result.Exit.Code != 0 {
		return fmt.Errorf("exit code %d: %.200q", result.Exit.Code, result.Stderr)
	}
	return checkEcho(payload, bytes.TrimSuffix(result.Stdout, []byte("\n")))
}

// timedRuns returns a turn that calls run n times and times each call, in milliseconds. Before each
// it waits for think, as a person or a model would.
func timedRuns(run func(context.Context) error, n int, think time.Duration) turn {
	return func(ctx context.Context) ([]float64, error) {
		samples := make([]float64, n)
		for i := range samples {
			time.Sleep(think)
			start := time.Now()
			if err := run(ctx); err != nil {
				return nil, err
			}
			samples[i] = millis(time.Since(start))
		}
		return samples, nil
	}
}
