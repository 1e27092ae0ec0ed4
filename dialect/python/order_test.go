package python

import (
	"testing"

	"github.com/patchbay-dev/patchbay/dialect"
	"github.com/patchbay-dev/patchbay/hook"
)

// TestOnDoneRunsInOrder: docs/protocols/python.md, "Plugins execute in the order they're listed in the session config". The
// document's picture has on_done as Plugin1 → Plugin2 → …
func TestOnDoneRunsInOrder(t *testing.T) {
	s := newStage(t)
	s.write("a", `
import asyncio
@on_done
async def done(ctx):
    await asyncio.sleep(0.3)
    ctx.state["told"] = ctx.state.get("told", "") + "a"
`)
	s.write("b", `
@on_done
def done(ctx): ctx.state["told"] = ctx.state.get("told", "") + "b"
`)
	s.write("c", `
@on_done
async def done(ctx): print("told " + ctx.state["told"])
`)
	s.open(dialect.Settings{})
	out := s.fire("r", hook.TurnDone, `{}`)
	if len(out.Steps) != 3 {
		t.Errorf("steps %+v", out.Steps)
	}
	s.logged("plugin=c", `line="told ab"`)
}
