package wire

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// far is the plugin's end of a connection, which the test plays.
type far struct {
	t  testing.TB
	r  *os.File // the host's output
	w  *os.File // the host's input
	in *Reader
}

// newPair returns the host's two pipe ends, and the far end.
func newPair(t testing.TB) (r, w *os.File, f *far) {
	t.Helper()
	farR, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r, farW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = closeBoth(r, w)
		_ = closeBoth(farR, farW)
	})
	return r, w, &far{t: t, r: farR, w: farW, in: NewReader(farR, 64<<20)}
}

// read returns the next line from the host. It may be called from another goroutine than the
// test's.
func (f *far) read() string {
	_ = f.r.SetReadDeadline(time.Now().Add(patience))
	line, err := f.in.ReadLine()
	if err != nil {
		f.t.Errorf("the plugin reads: %v", err)
	}
	return string(line)
}

func (f *far) write(text string) {
	_ = f.w.SetWriteDeadline(time.Now().Add(patience))
	if _, err := f.w.WriteString(text); err != nil {
		f.t.Errorf("the plugin writes: %v", err)
	}
}

// play answers requests in turn: for each text it reads a line and writes the text.
func (f *far) play(replies ...string) {
	f.t.Helper()
	var done sync.WaitGroup
	done.Go(func() {
		for _, reply := range replies {
			f.read()
			f.write(reply)
		}
	})
	f.t.Cleanup(done.Wait)
}

// patience is how long a test waits for something that must happen.
const patience = time.Minute

// soon returns a context for a call that must succeed.
func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// never returns a context for a call that gets no reply.
func never(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// noises collects the noises of a connection.
type noises struct {
	mu   sync.Mutex // protects all
	all  []Noise
	more chan struct{} // of capacity 1
}

func newNoises() *noises { return &noises{more: make(chan struct{}, 1)} }

func (n *noises) add(noise Noise) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, noise)
	select {
	case n.more <- struct{}{}:
	default:
	}
}

// kinds returns the kinds of noises so far, one word each.
func (n *noises) kinds() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var words []string
	for _, noise := range n.all {
		words = append(words, noise.Kind.String())
	}
	return strings.Join(words, ", ")
}

// wait waits until the kinds of the noises so far are want.
func (n *noises) wait(t testing.TB, want string) {
	t.Helper()
	deadline := time.After(patience)
	for n.kinds() != want {
		select {
		case <-n.more:
		case <-deadline:
			t.Fatalf("noises: %q, want %q", n.kinds(), want)
		}
	}
}
