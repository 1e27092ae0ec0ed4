package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
)

// Names of the series of the two sandbox sections.
const (
	namePlain       = "plain process per call"
	nameBoxed       = "in its sandbox, nothing granted"
	nameBoxedNet    = "in its sandbox, one host granted"
	nameConnect     = "connection to an address, no sandbox"
	nameConnectName = "connection by name, in the sandbox"
)

// benchHost is a name that exists only in the sandbox.
const benchHost = "bench.test"

// measureSandboxSpawn compares a process per call with one in a sandbox. To set up the namespaces,
// mounts and filters of a sandbox, this program is started twice, for a short time.
func measureSandboxSpawn(ctx context.Context, e effort) ([]Series, error) {
	path, err := exec.LookPath("cat")
	if err != nil {
		return skipAll("no cat on this machine", namePlain, nameBoxed, nameBoxedNet), nil
	}
	group := proc.NewGroup(nil)
	defer group.Close()
	if err := sandbox.Probe(ctx, group).Possible(); err != nil {
		return skipAll(err.Error(), namePlain, nameBoxed, nameBoxedNet), nil
	}
	payload := payloadOf(smallCall)
	spec := proc.Spec{Path: path, Env: []string{"PATH=" + os.Getenv("PATH")}}
	boxed, online := spec, spec
	boxed.Box = sandbox.New(sandbox.Options{})
	online.Box = sandbox.New(sandbox.Options{Grants: []capability.Capability{{Kind: capability.NetHost, Host: benchHost, Port: 443}}})
	const batch = 5
	return roundRobin(ctx, e.of(40), []entrant{
		{namePlain, timedRuns(runOnce(group.Run, spec, payload), batch, 0)},
		{nameBoxed, timedRuns(runOnce(group.Run, boxed, payload), batch, 0)},
		{nameBoxedNet, timedRuns(runOnce(group.Run, online, payload), batch, 0)},
	})
}

func skipAll(why string, names ...string) []Series {
	var all []Series
	for _, name := range names {
		all = append(all, Series{Name: name, Skip: why})
	}
	return all
}

// measureSandboxConnect compares how long a program waits for a connection and one line: directly
// from a server, and in the sandbox. There the name is resolved first. Then the host accepts the
// connection, and makes another one to the server.
func measureSandboxConnect(ctx context.Context, e effort) ([]Series, error) {
	group := proc.NewGroup(nil)
	defer group.Close()
	if err := sandbox.Probe(ctx, group).Possible(); err != nil {
		return skipAll(err.Error(), nameConnect, nameConnectName), nil
	}
	server, err := greeter()
	if err != nil {
		return nil, err
	}
	defer server.Close()
	addr := server.Addr().(*net.TCPAddr)
	free, err := startConnector(ctx, group, nil)
	if err != nil {
		return nil, err
	}
	boxed, err := startConnector(ctx, group, sandbox.New(sandbox.Options{
		Grants: []capability.Capability{{Kind: capability.NetHost, Host: benchHost, Port: addr.Port}},
		Own:    []string{mustExecutable()},
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, nil
		},
		Dial: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr.String())
		},
	}))
	if err != nil {
		return nil, err
	}
	port := strconv.Itoa(addr.Port)
	return roundRobin(ctx, e.of(40), []entrant{
		{nameConnect, free.turn("127.0.0.1:"+port, 20)},
		{nameConnectName, boxed.turn(benchHost+":"+port, 20)},
	})
}

// greeter starts a server on the loopback interface that sends one line to each client.
func greeter() (net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("hello\n"))
			_ = c.Close()
		}
	}()
	return l, nil
}

// connectorPrefix starts the name of the child that makes connections. In its sandbox it can
// recognise its role only by that name.
const connectorPrefix = "bench-connector"

// connector is a child that makes connections on request.
type connector struct {
	process *proc.Process
	lines   *bufio.Reader
}

func mustExecutable() string {
	self, err := os.Executable()
	if err != nil {
		return "/proc/self/exe"
	}
	return filepath.Clean(self)
}

func startConnector(ctx context.Context, g *proc.Group, box *sandbox.Box) (*connector, error) {
	spec := proc.Spec{Path: mustExecutable(), Name: connectorPrefix}
	if box != nil {
		spec.Box = box
	}
	p, err := g.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	return &connector{p, bufio.NewReader(p.Stdout())}, nil
}

// turn makes n connections, one after another. The child times each.
func (c *connector) turn(address string, n int) turn {
	return func(context.Context) ([]float64, error) {
		samples := make([]float64, n)
		for i := range samples {
			if _, err := fmt.Fprintln(c.process.Stdin(), address); err != nil {
				return nil, err
			}
			line, err := c.lines.ReadString('\n')
			if err != nil {
				return nil, fmt.Errorf("%w: %s", err, c.process.Stderr())
			}
			if samples[i], err = strconv.ParseFloat(strings.TrimSpace(line), 64); err != nil {
				return nil, fmt.Errorf("connector: %.200q", line)
			}
		}
		return samples, nil
	}
}

// serveConnections is the main function of a connector's process. It reads one address a line, and
// answers with milliseconds.
func serveConnections() error {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		took, err := connectOnce(lines.Text())
		if err != nil {
			fmt.Println(err)
			return err
		}
		fmt.Println(took)
	}
	return lines.Err()
}

func connectOnce(address string) (float64, error) {
	start := time.Now()
	c, err := net.Dial("tcp", address)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	var line [16]byte
	if _, err := c.Read(line[:]); err != nil {
		return 0, err
	}
	return millis(time.Since(start)), nil
}
