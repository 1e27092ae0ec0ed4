package python

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
)

// nesting answers a tool call with as many levels as the call says.
const nesting = `
@on_tool_call
async def deeper(ctx, call):
    value = 1
    for _ in range(call.input["levels"] - 3): value = [value]
    call.input["value"] = value
    return call

@on_final
async def final(ctx, text): return text + "!"
`

// TestAnAnswerThatIsTooDeepIsGarbled: an answer may have 1,000 levels. A deeper one is garbled,
// whether Python can encode it or not, and the plugin goes on.
func TestAnAnswerThatIsTooDeepIsGarbled(t *testing.T) {
	s := only(t, nesting)
	call := func(levels int) *hook.Outcome {
		return s.fire("r", hook.ToolBefore, fmt.Sprintf(`{"tool":"t","call_id":"1","arguments":{"levels":%d}}`, levels))
	}
	if out := call(1_000); step(t, out).Err != nil || !step(t, out).Changed {
		t.Errorf("1,000 levels: %v", step(t, out).Err)
	}
	for _, levels := range []int{1_001, 9_997, 100_000} {
		out := call(levels)
		wantKind(t, out, hook.Garbled, "the limit of 1000 levels")
		if step(t, out).Changed {
			t.Errorf("%d levels took effect", levels)
		}
		if _, err := json.Marshal(out.Trace()); err != nil {
			t.Errorf("%d levels: the trace is lost: %v", levels, err)
		}
	}
	if got := s.final("r", "well"); got != "well!" {
		t.Errorf("afterwards it answers %q", got)
	}
}

// TestAPluginIsGivenWhatAnotherMaySend: an answer of one plugin reaches the next, even if it is
// deeper than Python's default limit.
func TestAPluginIsGivenWhatAnotherMaySend(t *testing.T) {
	s := only(t, `
@on_tool_call
async def deeper(ctx, call):
    depth, value = 0, call.input["value"]
    while isinstance(value, list) and value: depth, value = depth + 1, value[0]
    call.input = {"depth": depth}
    return call
`)
	const levels = 1_900
	value := strings.Repeat("[", levels) + "1" + strings.Repeat("]", levels)
	out := s.fire("r", hook.ToolBefore, `{"tool":"t","call_id":"1","arguments":{"value":`+value+`}}`)
	if got, want := string(out.Payload), fmt.Sprintf(`"arguments":{"depth":%d}`, levels); !strings.Contains(got, want) {
		t.Errorf("got %.200s, %v", got, step(t, out).Err)
	}
}

// TestUnexpectedOutputIsBounded: output of a plugin on the pipe to the host is logged within the
// usual budget.
func TestUnexpectedOutputIsBounded(t *testing.T) {
	s := only(t, `
import os, stat

@on_final
async def final(ctx, text):
    wire = [fd for fd in range(3, 64) if is_pipe(fd)]
    for n in range(5000):
        for fd in wire: os.write(fd, b"noise %d\n" % n)
    return text + "!"

def is_pipe(fd):
    try: return stat.S_ISFIFO(os.fstat(fd).st_mode) and os.write(fd, b"\n") == 1
    except OSError: return False
`)
	if got := s.final("r", "well"); got != "well!" {
		t.Errorf("it answers %q", got)
	}
	s.logged("unexpected output", "kind=garbage", "noise 0")
	if n := strings.Count(s.log.String(), "unexpected output"); n > 100 {
		t.Errorf("%d lines are logged", n)
	}
}
