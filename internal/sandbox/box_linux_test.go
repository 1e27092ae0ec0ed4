package sandbox_test

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
)

func run(t *testing.T, o sandbox.Options, path string, args ...string) *proc.Result {
	t.Helper()
	g := proc.NewGroup(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	defer g.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	r, err := g.Run(ctx, proc.Spec{Path: path, Args: args, Dir: "/root", Env: []string{"PATH=/root/.pyenv/shims:/usr/local/bin:/usr/bin:/bin", "HOME=/root"}, Box: sandbox.New(o)}, proc.Call{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v\n%s%s", r.Exit, r.Stdout, r.Stderr)
	return r
}

func TestFirst(t *testing.T) {
	var grants []capability.Capability
	for _, s := range []string{"exec:ls:/usr/bin/ls", "exec:id:/usr/bin/id", "exec:cat:/usr/bin/cat", "exec:ps:/usr/bin/ps", "exec:mount:/usr/bin/mount"} {
		c, err := capability.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		grants = append(grants, c)
	}
	run(t, sandbox.Options{Grants: grants}, "/bin/bash", "-c", "id; ls -la / /root /usr/bin /etc; ps aux; cat /proc/self/status | while read a b; do case $a in Cap*|NoNew*|Secc*) echo $a $b;; esac; done; echo hi >/tmp/x && cat /tmp/x; kill -TERM $$")
	run(t, sandbox.Options{Grants: grants}, "python3", "-c", "import ssl,sqlite3,json,os; print(os.getuid(), ssl.create_default_context().cert_store_stats())")
	run(t, sandbox.Options{Grants: grants}, "node", "-e", "console.log(process.version, require('os').cpus().length)")
}

func TestNet(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Write([]byte("hello from outside\n"))
			c.Close()
		}
	}()
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	var grants []capability.Capability
	for _, s := range []string{"net:127.0.0.1:" + port, "net:api.example.test:80"} {
		c, err := capability.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		grants = append(grants, c)
	}
	o := sandbox.Options{Grants: grants,
		Resolve: func(ctx context.Context, host string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
		},
		Dial: func(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
			t.Log("dial", a)
			return net.Dial("tcp", l.Addr().String())
		},
		OnDenied: func(d sandbox.Denial) { t.Log("denied", d) }}
	run(t, o, "python3", "-c", `
import socket,time
def go(h,p):
    t=time.time()
    try:
        s=socket.create_connection((h,p),3); print(h,p,s.recv(100), round((time.time()-t)*1000,2),'ms')
    except Exception as e: print(h,p,repr(e), round((time.time()-t)*1000,2),'ms')
go('127.0.0.1',`+port+`)
go('localhost',`+port+`)
go('api.example.test',80)
go('api.example.test',81)
go('evil.example',80)
go('127.0.0.1',22)
go('192.0.2.1',80)
go('2001:db8::1',80)
go('::1',22)
`)
}

func TestProbe(t *testing.T) {
	g := proc.NewGroup(nil)
	defer g.Close()
	began := time.Now()
	t.Logf("%+v %v", sandbox.Probe(t.Context(), g), time.Since(began))
}
