package main

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

// measureStart compares Open (discovery, trust, start, handshake, wiring) with the bare start and
// handshake of the very same files.
func measureStart(ctx context.Context, e effort) ([]Series, error) {
	dir, err := os.MkdirTemp("", "bench-start-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := scaffoldHome(filepath.Join(dir, "scaffold"), startedPlugins); err != nil {
		return nil, err
	}
	return roundRobin(ctx, e.of(15), []entrant{
		{nameBareStart, func(ctx context.Context) ([]float64, error) { return bareStartTurn(ctx, dir) }},
		{nameOpen, func(ctx context.Context) ([]float64, error) { return openTurn(ctx, dir) }},
	})
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
