package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// fire is the whole of Patchbay as an embedding program sees it: an event fired at a point, translated
// into the scaffold dialect's hook, sent over the wire, the reply translated back, traced.
type fire struct {
	dir  string
	host *pluginhost.Host
}

func newFire() Contestant { return &fire{} }

func (f *fire) Name() string { return nameFire }

func (f *fire) Open(ctx context.Context) (err error) {
	if f.dir, err = os.MkdirTemp("", "bench-fire-"); err != nil {
		return err
	}
	if err := scaffoldHome(filepath.Join(f.dir, "scaffold"), 1); err != nil {
		return err
	}
	f.host, err = openHost(ctx, f.dir, 1)
	return err
}

func (f *fire) Call(ctx context.Context, payload []byte) error {
	outcome, err := f.host.Fire(ctx, hook.TurnInput, json.RawMessage(payload))
	if err != nil {
		return err
	}
	return checkEcho(payload, outcome.Payload)
}

func (f *fire) Close() error {
	defer os.RemoveAll(f.dir)
	if f.host == nil {
		return nil
	}
	return f.host.Close()
}

// openHost opens a host on the n scaffold plugins under dir, and on nothing else of this machine's.
func openHost(ctx context.Context, dir string, n int) (*pluginhost.Host, error) {
	host, err := pluginhost.Open(ctx, &pluginhost.Options{Environ: lonely(dir), Dir: dir})
	if err != nil {
		return nil, err
	}
	if err := allReady(host.Plugins(), n); err != nil {
		return nil, errors.Join(err, host.Close())
	}
	return host, nil
}

// lonely is an environment in which every place that configuration and plugins are searched lies
// under dir.
func lonely(dir string) []string {
	return []string{
		"PATH=/usr/bin:/bin", "HOME=" + dir,
		"PATCHBAY_HOME=" + filepath.Join(dir, "patchbay"),
		"SCAFFOLD_HOME=" + filepath.Join(dir, "scaffold"),
	}
}

// allReady wants exactly n plugins, all running.
func allReady(plugins []pluginhost.PluginInfo, n int) error {
	for _, p := range plugins {
		if p.Error != nil {
			return fmt.Errorf("plugin %s is %s: %.200q", p.Name, p.State, *p.Error)
		}
	}
	if len(plugins) != n {
		return fmt.Errorf("%d plugins are there, wanted %d", len(plugins), n)
	}
	return nil
}
