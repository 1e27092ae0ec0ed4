package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// Names of the contestants that fire events.
const (
	nameFire     = "patchbay Host.Fire, watched"
	nameFireBack = "patchbay Host.Fire, handed back"
	nameFireText = "patchbay Host.Fire, text edited"
	nameFireObj  = "patchbay Host.Fire, object edited"
)

// fireKind says what the plugin does with an event.
type fireKind struct {
	name   string
	plugin string // how the plugin's file name begins
	point  hook.Point
	event  func(payload []byte) []byte // the event's payload; nil: as it is
	edits  bool
}

var (
	watched      = fireKind{name: nameFire, plugin: watcherPrefix, point: hook.TurnInput}
	handedBack   = fireKind{name: nameFireBack, plugin: scaffoldPrefix, point: hook.TurnInput}
	textEdited   = fireKind{name: nameFireText, plugin: editorPrefix, point: hook.TurnInput, edits: true}
	objectEdited = fireKind{name: nameFireObj, plugin: editorPrefix, point: hook.ToolBefore, edits: true,
		event: func(payload []byte) []byte { return fmt.Appendf(nil, `{"tool":"note","arguments":%s}`, payload) }}
)

// fire calls a plugin through all of Patchbay, as an embedding program does: an event is fired at a
// point, translated to a hook of the scaffold dialect and sent; the reply is translated back,
// merged and traced.
type fire struct {
	kind fireKind
	hosted
	sent json.RawMessage // made from the first payload, which is the same at every call
	want json.RawMessage // the payload that the plugin should return
}

func newFire(kind fireKind) Contestant { return &fire{kind: kind} }

func (f *fire) Name() string { return f.kind.name }

func (f *fire) Open(ctx context.Context) (err error) {
	if f.dir, err = os.MkdirTemp("", "bench-fire-"); err != nil {
		return err
	}
	if err := scaffoldPlugins(filepath.Join(f.dir, "scaffold"), f.kind.plugin, 1); err != nil {
		return err
	}
	f.host, err = openHost(ctx, f.dir, 1)
	return err
}

func (f *fire) Call(ctx context.Context, payload []byte) error {
	if f.sent == nil {
		f.prepare(payload)
	}
	outcome, err := f.host.Fire(ctx, f.kind.point, f.sent)
	if err != nil {
		return err
	}
	return checkEcho(f.want, outcome.Payload)
}

func (f *fire) prepare(payload []byte) {
	f.sent = payload
	if f.kind.event != nil {
		f.sent = f.kind.event(payload)
	}
	f.want = f.sent
	if f.kind.edits {
		f.want = editLast(bytes.Clone(f.sent))
	}
}

// hosted is a host with a directory of its own, which is removed with it.
type hosted struct {
	dir  string
	host *pluginhost.Host
}

func (h *hosted) Close() error {
	defer os.RemoveAll(h.dir)
	if h.host == nil {
		return nil
	}
	return h.host.Close()
}

// openHost opens a host with the n scaffold plugins under dir, and with no other plugins of this
// machine.
func openHost(ctx context.Context, dir string, n int) (*pluginhost.Host, error) {
	host, err := pluginhost.Open(ctx, &pluginhost.Options{Environ: isolatedEnviron(dir), Dir: dir})
	if err != nil {
		return nil, err
	}
	if err := allReady(host.Plugins(), n); err != nil {
		return nil, errors.Join(err, host.Close())
	}
	return host, nil
}

// isolatedEnviron returns an environment in which all configuration and plugins are searched under
// dir.
func isolatedEnviron(dir string) []string {
	return []string{
		"PATH=/usr/bin:/bin", "HOME=" + dir,
		"PATCHBAY_HOME=" + filepath.Join(dir, "patchbay"),
		"SCAFFOLD_HOME=" + filepath.Join(dir, "scaffold"),
	}
}

// allReady returns an error unless there are exactly n plugins, all running.
func allReady(plugins []pluginhost.PluginInfo, n int) error {
	for _, p := range plugins {
		if p.Error != nil {
			return fmt.Errorf("plugin %s is %s: %.200q", p.Name, p.State, *p.Error)
		}
	}
	if len(plugins) != n {
		return fmt.Errorf("found %d plugins, wanted %d", len(plugins), n)
	}
	return nil
}
