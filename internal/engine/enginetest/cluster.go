package enginetest

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// startWait bounds the start of a cluster: its servers must find each other and elect a leader.
const startWait = 30 * time.Second

// A Nodes is a running cluster.
type Nodes struct {
	URL string // of all its servers, with commas

	t       testing.TB
	options []*server.Options
	servers []*server.Server // nil: killed
	streams []int            // how many streams a server had when it was killed
}

// Cluster starts servers that form a cluster, and ends them with the test.
func Cluster(t testing.TB, size int) *Nodes {
	t.Helper()
	n := &Nodes{t: t, servers: make([]*server.Server, size), streams: make([]int, size)}
	clients, routes := freePorts(t, size), freePorts(t, size)
	var urls []string
	for i := range size {
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", clients[i]))
		n.options = append(n.options, nodeOptions(t, i, clients[i], routes))
	}
	n.URL = strings.Join(urls, ",")
	t.Cleanup(n.stop)
	for i := range size {
		n.boot(i)
	}
	n.await("the cluster has a leader", n.complete)
	return n
}

func nodeOptions(t testing.TB, i, port int, routes []int) *server.Options {
	o := &server.Options{
		ServerName: fmt.Sprintf("node%d", i), Host: "127.0.0.1", Port: port,
		NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: filepath.Join(t.TempDir(), "store"),
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

// Restart starts a killed server again, and waits until it has the streams it had. (A server that is ended while it
// opens them leaves some of them open.)
func (n *Nodes) Restart(i int) {
	n.t.Helper()
	n.boot(i)
	n.await("the server is back", func() bool { return n.countStreams(i) >= n.streams[i] })
}

// Kill ends a server, and with it the connections it had.
func (n *Nodes) Kill(i int) {
	s := n.servers[i]
	if s == nil {
		return
	}
	n.streams[i] = n.countStreams(i)
	n.servers[i] = nil
	s.Shutdown()
	s.WaitForShutdown()
}

func (n *Nodes) countStreams(i int) int {
	info, err := n.servers[i].Jsz(nil)
	if err != nil {
		n.t.Error(err)
		return 0
	}
	return info.Streams
}

// Leader is the server that leads a stream, by the name that the server knows it under; -1: none does.
func (n *Nodes) Leader(stream string) int {
	for i, s := range n.servers {
		if s == nil {
			continue
		}
		if s.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, stream) {
			return i
		}
	}
	return -1
}

func (n *Nodes) stop() {
	for i := range n.servers {
		n.Kill(i)
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

// complete tells whether there is a leader that knows all servers.
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

// freePorts finds ports that nobody listens on. Somebody may before we do; that the test fails then is all that can be done.
func freePorts(t testing.TB, n int) []int {
	t.Helper()
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports
}
