package python

import (
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// TestOnDoneRunsInOrder: plugins are called one after another at on_done too:
// docs/protocols/python.md#everything-a-file-can-use.
func TestOnDoneRunsInOrder(t *testing.T) {
	s := newRig(t)
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
