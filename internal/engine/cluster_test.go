package engine

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/patchbay-dev/patchbay/internal/engine/enginetest"
)

func TestCluster(t *testing.T) {
	nodes := enginetest.Cluster(t, 3)
	const daemons = 4
	engines := make([]*Engine, daemons)
	for i := range engines {
		engines[i] = open(t, Options{URL: nodes.URL})
	}
	t.Run("many engines can create the same streams at once", func(t *testing.T) {
		var all sync.WaitGroup
		for _, e := range engines {
			all.Go(func() {
				if _, err := e.Stream(t.Context(), StreamConfig{Name: "s"}); err != nil {
					t.Error(err)
				}
				if _, err := e.Bucket(t.Context(), BucketConfig{Name: "b", TTL: time.Hour}); err != nil {
					t.Error(err)
				}
				if _, err := e.Queue(t.Context(), QueueConfig{Name: "q"}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	})
	s := openStream(t, engines[0], "s")
	t.Run("streams have three copies", func(t *testing.T) {
		if n := s.(*stream).stream.CachedInfo().Config.Replicas; n != 3 {
			t.Errorf("%d", n)
		}
	})
	t.Run("another engine reads a write at once", func(t *testing.T) {
		other := openStream(t, engines[1], "s")
		for i := range 50 {
			sequence := appendTo(t, s, "t", fmt.Sprint(i))
			if got, err := other.Read(t.Context(), "t", sequence-1, 0); err != nil || len(got) != 1 {
				t.Fatalf("record %d: %s, %v", sequence, show(got), err)
			}
		}
	})
	t.Run("nothing is lost when the leading server dies, and all calls succeed", func(t *testing.T) {
		followed := startFollowing(t, s)
		before := appendTo(t, s, "t", "before")
		killed := nodes.Leader(s.(*stream).name)
		nodes.Kill(killed)
		var last uint64
		for i := range 50 {
			last = appendTo(t, s, "t", fmt.Sprint("after", i))
		}
		if got, err := s.Read(t.Context(), "t", before-1, 1); err != nil || len(got) != 1 {
			t.Errorf("%s, %v", show(got), err)
		}
		followed.check(t, s, last)
		nodes.Restart(killed)
	})
	t.Run("the same when another dies after the first is back", func(t *testing.T) {
		nodes.Kill(nodes.Leader(s.(*stream).name))
		appendTo(t, s, "t", "again")
	})
}

func TestSmallCluster(t *testing.T) {
	e := open(t, Options{URL: enginetest.Cluster(t, 1).URL})
	t.Run("one server alone gets one copy", func(t *testing.T) {
		s := openStream(t, e, "s")
		if n := s.(*stream).stream.CachedInfo().Config.Replicas; n != 1 {
			t.Errorf("%d", n)
		}
		appendTo(t, s, "t", "")
	})
}

func TestExternalErrors(t *testing.T) {
	t.Parallel() // waits most of the time
	t.Run("no server answers", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0") // a port without a server
		if err != nil {
			t.Fatal(err)
		}
		address := l.Addr().String()
		_ = l.Close()
		expectError(t, "nats://someone:pass@"+address, ErrUnavailable, address)
	})
	t.Run("there is no store", func(t *testing.T) {
		srv := startPlain(t, &server.Options{})
		expectError(t, srv.ClientURL(), nil, "JetStream is not enabled")
	})
	t.Run("the password is wrong", func(t *testing.T) {
		srv := startPlain(t, &server.Options{Username: "me", Password: "right"})
		host := strings.TrimPrefix(srv.ClientURL(), "nats://")
		expectError(t, "nats://me:pass@"+host, ErrUnavailable, "uthorization")
	})
	t.Run("the address is invalid", func(t *testing.T) {
		for _, url := range []string{"http://me:pass@x", "nats://", "nats://ok:1,redis://me:pass@x", "%zz:pass"} {
			expectError(t, url, nil, "engine url")
		}
	})
	t.Run("missing files", func(t *testing.T) {
		for _, o := range []Options{
			{URL: "nats://127.0.0.1:1", Credentials: "/nowhere.creds"},
			{URL: "tls://127.0.0.1:1", TLS: TLS{CA: "/nowhere.pem"}},
			{URL: "tls://127.0.0.1:1", TLS: TLS{Cert: "/nowhere.pem", Key: "/nowhere.key"}},
		} {
			if e, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "/nowhere") {
				t.Errorf("%v, %v", e, err)
			}
		}
	})
}

// expectError opens an engine. It expects an error with a text, and without the password.
func expectError(t *testing.T, url string, want error, text string) {
	t.Helper()
	_, err := Open(t.Context(), Options{URL: url})
	if err == nil || want != nil && !errors.Is(err, want) || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "pass") {
		t.Errorf("%q: %v", url, err)
	}
}

// startPlain starts a server without a store.
func startPlain(t *testing.T, o *server.Options) *server.Server {
	t.Helper()
	o.Host, o.Port, o.NoSigs, o.NoLog = "127.0.0.1", -1, true, true
	srv, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	if !srv.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	return srv
}
