package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/patchbay-dev/patchbay/hook"
)

// namePython is the one series of the python section.
const namePython = "patchbay Host.Fire, python"

// pythonHook is a plugin of the python dialect with one hook that reads the text and does not
// change it.
const pythonHook = `@on_final
async def look(ctx, text):
    ctx.state["length"] = len(text)
    return text
`

// pythonFire fires an event at a plugin of the python dialect. The event is translated and sent to
// the interpreter that all such plugins share, where the hook runs as a coroutine.
type pythonFire struct {
	hosted
}

func (p *pythonFire) Name() string { return namePython }

func (p *pythonFire) Open(ctx context.Context) (err error) {
	if _, err := findPython(ctx); err != nil {
		return fmt.Errorf("%w: %w", errSkip, err)
	}
	if p.dir, err = os.MkdirTemp("", "bench-python-"); err != nil {
		return err
	}
	plugins := filepath.Join(p.dir, ".agent", "plugins")
	if err := os.MkdirAll(plugins, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(plugins, "look.py"), []byte(pythonHook), 0o600); err != nil {
		return err
	}
	p.host, err = openHost(ctx, p.dir, 1)
	return err
}

func (p *pythonFire) Call(ctx context.Context, payload []byte) error {
	out, err := p.host.Fire(ctx, hook.TurnFinal, json.RawMessage(payload))
	if err != nil {
		return err
	}
	if len(out.Steps) != 1 || out.Steps[0].Err != nil {
		return fmt.Errorf("the plugin was not called: %+v", out.Steps)
	}
	return checkEcho(payload, out.Payload)
}

// measurePython makes 40 × 20 = 800 calls.
func measurePython(ctx context.Context, e effort) ([]Series, error) {
	payload := []byte(`{"text":"` + string(payloadOf(smallCall))[len(`{"message":"`):])
	return each(ctx, e.of(40), []Contestant{&pythonFire{}}, func(c Contestant) turn { return timed(c, payload, warmUp, 20) })
}
