package enginetest

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A Shared is a cluster of three servers for all tests of a package, one after another, because
// starting one takes longer than most tests. TestMain calls Run.
type Shared struct {
	nodes *Nodes // nil: no test has used it
	dir   string
}

// URL starts the cluster at the first call. The streams of the test are removed at its end. Call it
// before the test opens an engine, so that the engine is closed first.
func (s *Shared) URL(t testing.TB) string {
	t.Helper()
	if s.nodes == nil {
		dir, err := os.MkdirTemp("", "cluster-") // outlives the test
		if err != nil {
			t.Fatal(err)
		}
		s.dir, s.nodes = dir, newNodes(t, dir, 3)
		s.nodes.start()
	}
	t.Cleanup(func() { s.empty(t) })
	return s.nodes.URL
}

// empty removes every stream. It tries again while a leader is elected, when no server can do it.
func (s *Shared) empty(t testing.TB) {
	t.Helper()
	nc, err := nats.Connect(s.nodes.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), startWait)
	defer cancel()
	for {
		left, err := removeStreams(ctx, js)
		if err == nil && left == 0 {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("the streams of the test are not removed: %v", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// removeStreams returns how many streams there were.
func removeStreams(ctx context.Context, js jetstream.JetStream) (found int, last error) {
	names := js.StreamNames(ctx)
	for name := range names.Name() {
		found++
		if err := js.DeleteStream(ctx, name); err != nil {
			last = err
		}
	}
	if err := names.Err(); err != nil {
		last = err
	}
	return found, last
}

// Run runs the tests and ends the cluster.
func (s *Shared) Run(m interface{ Run() int }) int {
	code := m.Run()
	if s.nodes != nil {
		s.nodes.stop()
		_ = os.RemoveAll(s.dir) // remains in the system's temporary directory if this fails
	}
	return code
}
