package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// misbehaviours are fakes that a goroutine of the test cannot play: they end their process, or
// write without end.
var misbehaviours = map[string]func(r, w *os.File){
	"crash": func(r, w *os.File) { // exits in the middle of a call
		_, _ = NewReader(r, 1<<20).ReadLine()
		os.Exit(3)
	},
	"half-line": func(r, w *os.File) { // exits in the middle of a reply
		_, _ = NewReader(r, 1<<20).ReadLine()
		_, _ = w.WriteString(`{"jsonrpc":"2.0","id":1,"result":{"half`)
		os.Exit(3)
	},
	"huge": func(r, w *os.File) { // answers the first call with a line of 100 MB, the others normally
		lines := NewReader(r, 1<<20)
		_, _ = lines.ReadLine()
		_, _ = w.WriteString(`{"jsonrpc":"2.0","id":1,"result":"`)
		chunk := bytes.Repeat([]byte{'x'}, 1<<20)
		for sent := 0; sent < 100<<20; { // in pieces of all lengths, so that reads end anywhere
			n, _ := w.Write(chunk[sent%7777:])
			sent += n
		}
		_, _ = w.WriteString("\"}\n")
		_ = Serve(r, w, func(_ string, params json.RawMessage) (json.RawMessage, error) { return params, nil })
	},
	"deaf": func(r, w *os.File) { // reads nothing
		time.Sleep(time.Hour) // until it is killed
	},
}

func TestChildThatCrashes(t *testing.T) {
	for name, call := range callers {
		for _, fake := range []string{"crash", "half-line"} {
			t.Run(name+", "+fake, func(t *testing.T) {
				caller := call(t, startChild(t, fake))
				for range 2 {
					if _, err := caller(soon(t), "m", nil); !errors.Is(err, ErrClosed) {
						t.Errorf("err = %v", err)
					}
				}
			})
		}
	}
}

// callers are the two kinds of connection, as functions with the same signature.
var callers = map[string]func(testing.TB, *child) func(context.Context, string, []byte) (json.RawMessage, error){
	"serial": func(t testing.TB, c *child) func(context.Context, string, []byte) (json.RawMessage, error) {
		return NewSerial(c.r, c.w, Options{}).Call
	},
	"peer": func(t testing.TB, c *child) func(context.Context, string, []byte) (json.RawMessage, error) {
		p := NewPeer(c.r, c.w, PeerOptions{})
		t.Cleanup(func() { _ = p.Close() })
		return p.Call
	},
}

func TestChildThatRepliesWithAHugeLine(t *testing.T) {
	for name, call := range callers {
		t.Run(name, func(t *testing.T) {
			caller := call(t, startChild(t, "huge"))
			before := memory()
			if _, err := caller(soon(t), "m", nil); !errors.Is(err, ErrTooLarge) {
				t.Fatalf("err = %v", err)
			}
			got, err := caller(soon(t), "echo", []byte(`{"after":true}`))
			if err != nil || string(got) != `{"after":true}` {
				t.Fatalf("the next call got %s, %v", got, err)
			}
			// The buffer doubles up to the limit of 4 MiB, so all its sizes add up to 8 MiB. The
			// rest is for memory that the runtime reserves.
			if grown := memory() - before; grown > 32<<20 {
				t.Errorf("%d MiB more memory than before", grown>>20)
			}
		})
	}
}

// memory returns all memory that the runtime ever got from the system.
func memory() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}

func TestChildThatReadsNothing(t *testing.T) {
	for name, call := range callers {
		t.Run(name, func(t *testing.T) {
			caller := call(t, startChild(t, "deaf"))
			big := []byte(`"` + strings.Repeat("x", 2<<20) + `"`)
			for range 3 {
				began := time.Now()
				_, err := caller(never(t), "m", big)
				if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrBacklog) {
					t.Errorf("err = %v", err)
				}
				if time.Since(began) > patience {
					t.Errorf("the call took %v", time.Since(began))
				}
			}
		})
	}
}

func TestAllocations(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates too")
	}
	for name, call := range callers {
		t.Run(name, func(t *testing.T) {
			caller := call(t, startChild(t, "serve"))
			ctx, params := soon(t), paramsOf(300)
			each := testing.AllocsPerRun(500, func() {
				if _, err := caller(ctx, "hook/post_user_input", params); err != nil {
					t.Fatal(err)
				}
			})
			if each > 2 {
				t.Errorf("%v allocations a call, want at most 2", each)
			}
		})
	}
}
