package journal

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/engine/enginetest/embedded"
)

// BenchmarkNewest looks for traces among 50,000 events, of which every hundredth is one.
func BenchmarkNewest(b *testing.B) {
	j := New(embedded.Engine(b, b.TempDir()), Options{})
	data := json.RawMessage(`{"turn":"turn%d","text":"` + strings.Repeat("x", 400) + `"}`)
	for i := range 50_000 {
		kind, turn := "common", ""
		if i%100 == 0 && i < 25_000 {
			kind, turn = "point", fmt.Sprint("turn", i/500)
		}
		for !j.PostTurn(kind, fmt.Sprint("ses", i%100), turn, fmt.Appendf(nil, string(data), i/500)) {
			runtime.Gosched()
		}
	}
	awaitWritten(b, j)
	for name, f := range map[string]Filter{
		"all":            {Kinds: []string{"point"}},
		"session":        {Kinds: []string{"point"}, Session: "ses0"},
		"no such":        {Kinds: []string{"point"}, Session: "ses7"},
		"turn":           {Kinds: []string{"point"}, Turn: "turn3"},
		"session, kinds": {Session: "ses5"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := j.Newest(b.Context(), 0, f, 50); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func awaitWritten(b *testing.B, j *Journal) {
	for {
		j.queue.mu.Lock()
		n := j.queue.events
		j.queue.mu.Unlock()
		if n == 0 {
			b.Cleanup(func() {
				if err := j.Close(); err != nil {
					b.Error(err)
				}
			})
			return
		}
		runtime.Gosched()
	}
}
