package tui

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// A sink is an output that is not a terminal. The program writes, and the test reads.
type sink struct{ plugtest.Log }

// until waits until text was written.
func (s *sink) until(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(patience); !strings.Contains(s.String(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%q was never written; the output ends with %q", text, tail(s.String()))
		}
	}
}

func tail(s string) string { return s[max(len(s)-500, 0):] }

func TestRun(t *testing.T) {
	t.Run("a context that ends is not an error, and no call outlives the program", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		in, keys := io.Pipe()
		defer keys.Close()
		var out sink
		talk := newScripted()
		result := make(chan error, 1)
		go func() { result <- Run(ctx, talk, Options{In: in, Out: &out}) }()
		out.until(t, "Ask anything")
		if _, err := io.WriteString(keys, "hang\r"); err != nil {
			t.Fatal(err)
		}
		out.until(t, "I begin")
		cancel()
		if err := <-result; err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"interrupted after", "go on with it"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q was not written", want)
			}
		}
		if n := talk.running.Load(); n != 0 {
			t.Errorf("%d calls are running", n)
		}
	})
	t.Run("a context that has ended already is not an error either", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		in, keys := io.Pipe()
		defer keys.Close()
		if err := Run(ctx, newScripted(), Options{In: in, Out: &sink{}}); err != nil {
			t.Error(err)
		}
	})
}

func TestCalls(t *testing.T) {
	t.Run("no call begins after close", func(t *testing.T) {
		var c calls
		if !c.begin() {
			t.Fatal("a call could not begin before close")
		}
		c.end()
		if err := c.close(); err != nil || c.begin() {
			t.Errorf("close: %v, or a call began after it", err)
		}
	})
}
