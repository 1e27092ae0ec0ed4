package enginetest

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A Shared is a cluster of three for all tests of a package, one after another: to start one takes
// longer than most tests do. Run is TestMain's.
type Shared struct {
	nodes *Nodes // nil: no test has asked for it
	dir   string
}

// URL starts the cluster, the first time. What the test makes there is removed at its end. Register
// it before what uses it, which is closed first then.
func (s *Shared) URL(t testing.TB) string {
	t.Helper()
	if s.nodes == nil {
		dir, err := os.MkdirTemp("", "cluster-") // it outlives the test
		if err != nil {
			t.Fatal(err)
		}
		s.dir, s.nodes = dir, newNodes(t, dir, 3)
		s.nodes.start()
	}
	t.Cleanup(func() { s.empty(t) })
	return s.nodes.URL
}

// empty removes every stream. While a leader is elected nobody does that: it is tried again.
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

// removeStreams tells how many there were.
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
		_ = os.RemoveAll(s.dir) // what is left is in the system's directory for it
	}
	return code
}
