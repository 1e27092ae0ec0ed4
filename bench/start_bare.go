package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
)

// startedPlugins is how many plugins a scaffold host has at most.
const startedPlugins = 16

// handshake is the scaffold dialect's first request.
const handshake = `{"jsonrpc":"2.0","method":"initialize","params":{"protocol_version":1},"id":1}` + "\n"

// bareStart starts every program in a directory at once and returns when the last has answered its
// handshake: the least any host can do.
func bareStart(ctx context.Context, plugins string) ([]*child, error) {
	paths, err := filepath.Glob(filepath.Join(plugins, scaffoldPrefix+"*"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("no plugins in %s: %w", plugins, err)
	}
	started := make([]*child, len(paths)) // each goroutine owns its element of both
	errs := make([]error, len(paths))
	var all sync.WaitGroup
	for i, path := range paths {
		all.Go(func() { started[i], errs[i] = startAndShake(ctx, path) })
	}
	all.Wait()
	return started, errors.Join(errs...)
}

// startAndShake starts one plugin and reads its answer to the handshake.
func startAndShake(ctx context.Context, path string) (*child, error) {
	c, err := startPiped(ctx, exec.Command(path))
	if err != nil {
		return nil, err
	}
	if _, err := c.in.WriteString(handshake); err != nil {
		return c, err
	}
	answer, err := bufio.NewReader(c.out).ReadBytes('\n')
	if err != nil {
		return c, err
	}
	if !bytes.Contains(answer, []byte(filepath.Base(path))) {
		return c, fmt.Errorf("%s answered %.100q", filepath.Base(path), answer)
	}
	return c, nil
}

// closeAll ends what bareStart started.
func closeAll(started []*child) error {
	var errs []error
	for _, c := range started {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
