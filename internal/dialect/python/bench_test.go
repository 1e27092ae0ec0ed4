package python

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
)

// BenchmarkFire measures one hook from the bus to the handler and back. It reports the median,
// which does not depend on the load of the machine.
func BenchmarkFire(b *testing.B) {
	for name, text := range map[string]string{
		"async": "@on_tool_call\nasync def f(ctx, call): return ToolCall(call.tool_name, call.tool_call_id, {**call.input, 'timeout': 30})\n",
		"sync":  "@on_tool_call\ndef f(ctx, call): return ToolCall(call.tool_name, call.tool_call_id, {**call.input, 'timeout': 30})\n",
	} {
		b.Run(name, func(b *testing.B) {
			s := only(b, text)
			ctx := hook.WithRequest(b.Context(), "r")
			payload := json.RawMessage(`{"tool":"shell","call_id":"call_1","arguments":{"cmd":"ls -la /tmp","cwd":"/home/someone/project"}}`)
			took := make([]time.Duration, 0, b.N)
			b.ResetTimer()
			for range b.N {
				began := time.Now()
				if _, err := s.bus.Fire(ctx, hook.ToolBefore, payload); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(began))
			}
			b.StopTimer()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "median-µs")
		})
	}
}
