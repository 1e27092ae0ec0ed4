package enginetest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// startWait limits the start of a cluster: its servers must find each other and elect a leader.
const startWait = time.Minute

// The ports of servers. Linux itself assigns ports from 32768 on.
const firstPort, lastPort = 20000, 32000

// Nodes is a running cluster.
type Nodes struct {
	URL string // of all its servers, separated by commas

	t       testing.TB
	options []*server.Options
	servers []*server.Server // nil: killed
	streams []int            // how many streams a server had when it was killed
}

// Cluster starts servers that form a cluster, and ends them with the test.
func Cluster(t testing.TB, size int) *Nodes {
	t.Helper()
	n := newNodes(t, t.TempDir(), size)
	t.Cleanup(n.stop)
	n.start()
	return n
}

// newNodes returns a cluster whose servers do not run yet, and store their data in dir.
func newNodes(t testing.TB, dir string, size int) *Nodes {
	t.Helper()
	n := &Nodes{t: t, servers: make([]*server.Server, size), streams: make([]int, size)}
	ports := freePorts(t, 2*size)
	var urls []string
	for i := range size {
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", ports[i]))
		n.options = append(n.options, nodeOptions(dir, i, ports[i], ports[size:]))
	}
	n.URL = strings.Join(urls, ",")
	return n
}

func (n *Nodes) start() {
	n.t.Helper()
	for i := range n.servers {
		n.boot(i)
	}
	n.await("the cluster has a leader", n.complete)
}

func nodeOptions(dir string, i, port int, routes []int) *server.Options {
	o := &server.Options{
		ServerName: fmt.Sprintf("node%d", i), Host: "127.0.0.1", Port: port,
		NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: filepath.Join(dir, fmt.Sprintf("store%d", i)),
		JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: 1 << 30,
	}
	if len(routes) > 1 {
		o.Cluster = server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: routes[i]}
		for _, r := range routes {
			o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", r)})
		}
	}
	return o
}

func (n *Nodes) boot(i int) {
	n.t.Helper()
	s, err := server.NewServer(n.options[i].Clone())
	if err != nil {
		n.t.Fatal(err)
	}
	n.servers[i] = s
	s.Start()
	if !s.ReadyForConnections(startWait) {
		n.t.Fatalf("server %d does not start", i)
	}
}

// Restart starts a killed server again, and waits until it has its streams. Without the wait, a
// test that ends the server while it opens them would leave some of them open.
func (n *Nodes) Restart(i int) {
	n.t.Helper()
	n.boot(i)
	n.await("the server is back", func() bool { return n.countStreams(i) >= n.streams[i] })
}

// Kill ends a server, and with it its connections.
func (n *Nodes) Kill(i int) {
	n.streams[i] = n.countStreams(i)
	n.end(i)
}

func (n *Nodes) end(i int) {
	if s := n.servers[i]; s != nil {
		n.servers[i] = nil
		s.Shutdown()
		s.WaitForShutdown()
	}
}

func (n *Nodes) countStreams(i int) int {
	info, err := n.servers[i].Jsz(nil)
	if err != nil {
		n.t.Error(err)
		return 0
	}
	return info.Streams
}

// Leader returns the server that leads a stream. stream is its name on the server. Leader waits
// while a leader is elected.
func (n *Nodes) Leader(stream string) (leader int) {
	n.t.Helper()
	n.await("the stream has a leader", func() bool {
		leader = slices.IndexFunc(n.servers, func(s *server.Server) bool {
			return s != nil && s.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, stream)
		})
		return leader >= 0
	})
	return leader
}

func (n *Nodes) stop() {
	for i := range n.servers {
		n.end(i)
	}
}

func (n *Nodes) await(what string, condition func() bool) {
	n.t.Helper()
	for end := time.Now().Add(startWait); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if condition() {
			return
		}
	}
	n.t.Fatal("never: " + what)
}

// complete reports whether there is a leader that knows all servers.
func (n *Nodes) complete() bool {
	if len(n.servers) == 1 {
		return true
	}
	for _, s := range n.servers {
		if s.JetStreamIsLeader() {
			return len(s.JetStreamClusterPeers()) == len(n.servers) && s.JetStreamIsCurrent()
		}
	}
	return false
}

// freePorts finds unused ports. They are below those that systems assign by themselves, so that no
// other process gets one before a server listens there or while it is down.
func freePorts(t testing.TB, n int) []int {
	t.Helper()
	var ports []int
	for tries := 0; len(ports) < n; tries++ {
		if tries == 1000 {
			t.Fatal("there are no free ports")
		}
		port := firstPort + rand.IntN(lastPort-firstPort)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue // the port is in use
		}
		defer func() { _ = l.Close() }() // held until all are found, so that none is found twice
		ports = append(ports, port)
	}
	return ports
}
