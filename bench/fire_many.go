package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/wire"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// Names of the contestants that fire many events at once.
const (
	nameFireMany   = "patchbay Host.Fire, kaged, watched"
	nameInjectMany = "patchbay Host.Fire, kaged, text answered"
)

// The file names of kaged plugins. Plugins with the first prefix answer at once; those with the
// second inject the message that they got.
const (
	quickPrefix  = "bench-quick-"
	injectPrefix = quickPrefix + "inject-"
)

// fireMany fires events at one kaged plugin, whose protocol allows many calls in flight.
type fireMany struct {
	name   string
	inject bool // the plugin returns the text in another field
	hosted
}

func (f *fireMany) Name() string { return f.name }

func (f *fireMany) Open(ctx context.Context) (err error) {
	if f.dir, err = os.MkdirTemp("", "bench-fire-"); err != nil {
		return err
	}
	prefix := quickPrefix
	if f.inject {
		prefix = injectPrefix
	}
	if err := kagedPlugins(f.dir, prefix, 1); err != nil {
		return err
	}
	f.host, err = openHost(ctx, f.dir, 1)
	return err
}

func (f *fireMany) Call(ctx context.Context, payload []byte) error {
	outcome, err := f.host.Fire(ctx, hook.SessionStart, json.RawMessage(payload))
	if err != nil {
		return err
	}
	if !f.inject {
		return checkEcho(payload, outcome.Payload)
	}
	text := payload[len(`{"message":`) : len(payload)-1]
	if _, injected, _ := bytes.Cut(outcome.Payload, []byte(`,"inject":`)); !bytes.HasPrefix(injected, text) {
		return fmt.Errorf("nothing was injected: %.60q", outcome.Payload)
	}
	return nil
}

// quickChild is a kaged plugin that sends no requests to the host.
func quickChild() error {
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	inject := strings.HasPrefix(name, injectPrefix)
	return wire.ServeLent(os.Stdin, os.Stdout, func(method string, params json.RawMessage) (json.RawMessage, error) {
		switch {
		case method == "kaged.hook.on_session_start" && inject:
			return injectMessage(params)
		case method == "kaged.hook.on_session_start":
			return json.RawMessage("null"), nil
		case method == "initialize":
			return fmt.Appendf(nil, `{"name":%q,"version":"1.0.0","api_version":1,"methods":[],"notifications":[],"capabilities_used":[]}`, name), nil
		}
		return json.RawMessage(`{"ok":true}`), nil
	})
}

func injectMessage(params json.RawMessage) (json.RawMessage, error) {
	event, err := rawjson.Parse(params)
	if err != nil {
		return nil, err
	}
	text := event.Get("message")
	if text == nil {
		return nil, errors.New("no message")
	}
	return rawjson.Object{{Name: "inject", Value: text}}.JSON(), nil
}
