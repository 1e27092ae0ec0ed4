package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/plugtest/soak"
)

// callerPlugin is a plugin that sends a health request and an MCP handshake to an address, and
// returns the answers.
const callerPlugin = `#!/usr/bin/env python3
import json, socket, sys

hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "caller", "version": "1"}}})
requests = [
    "GET /v1/health HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n",
    "POST /mcp HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Type: application/json\r\n"
    "Accept: application/json, text/event-stream\r\nContent-Length: " + str(len(hello)) + "\r\n\r\n" + hello]

def connect(host, port):
    if port:
        return socket.create_connection((host, port), timeout=30)
    s = socket.socket(socket.AF_UNIX)
    s.connect(host)
    return s

def ask(host, port, request):
    try:
        with connect(host, port) as s:
            s.sendall((request % ("localhost:%d" % port if port else "localhost")).encode())
            return s.recv(1000).decode().split("\r\n")[0] or "nothing"
    except OSError as e:
        return "error: %s" % e

def call(host, port):
    health, mcp = [ask(host, port, r) for r in requests]
    return health if health == mcp else "health: %s, mcp: %s" % (health, mcp)

for line in sys.stdin:
    m = json.loads(line)
    result = {}
    if m["method"] == "initialize":
        one = {"name": "request", "description": "Calls an address", "parameters": [
            {"name": "host", "type": "string", "required": True}, {"name": "port", "type": "number", "required": True}]}
        result = {"name": sys.argv[0].rsplit("/", 1)[-1], "version": "1.0.0", "description": "Calls an address", "hooks": [], "tools": [one]}
    elif m["method"] == "tool/execute":
        a = m["params"]["arguments"]
        result = {"success": True, "result": call(a["host"], int(a["port"]))}
    if "id" in m:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}), flush=True)
`

// TestNoSandboxReachesADaemon: no plugin in a sandbox gets more than a refusal from a daemon,
// whichever process runs the plugin and whatever its capabilities are. All other programs reach the
// daemons.
func TestNoSandboxReachesADaemon(t *testing.T) {
	t.Parallel()
	plugtest.NeedTool(t, "python3")
	users := []int{os.Geteuid()}
	if os.Geteuid() == 0 {
		users = append(users, 65534)
	}
	for _, user := range users {
		t.Run(fmt.Sprintf("as user %d", user), func(t *testing.T) {
			t.Parallel()
			newDaemonGroup(t, user).test()
		})
	}
}

// A daemonGroup has three daemons of one user, each in its own home, and another server.
type daemonGroup struct {
	t       *testing.T
	user    int
	program string
	dir     string

	four, six, all *server // on IPv4, on IPv6, and on every address with a token
	other          string  // the port of a plain server
}

func newDaemonGroup(t *testing.T, user int) *daemonGroup {
	t.Helper()
	dir, err := os.MkdirTemp("", "daemon-access-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &daemonGroup{t: t, user: user, dir: dir, program: filepath.Join(dir, "patchbay")}
	// Another process copies the program. If this one did, a process that another test starts
	// meanwhile could hold the copy open for writing, and then the kernel does not execute it.
	if out, err := exec.Command("cp", "/proc/"+strconv.Itoa(os.Getpid())+"/exe", s.program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := errors.Join(os.Chmod(s.program, 0o755), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *daemonGroup) test() {
	own := ownAddress(s.t)
	four, six, all := freePort(s.t), freePort(s.t), freePort(s.t)
	s.other = plainServer(s.t)
	for _, home := range []string{"four", "six", "all"} {
		write(s.t, s.home(home), ".config/patchbay/config.toml", "")
	}
	write(s.t, s.home("all"), ".config/patchbay/config.toml", "[server]\ntoken = \"0123456789abcdef\"\n")
	cases := []struct {
		rule, plugin, grants string // empty grants: the plugin is not confined
		host, port           string
		want                 string
	}{
		{"a plugin that is not confined reaches a daemon", "free", "", "127.0.0.1", four, "HTTP/1.1 200 OK"},
		{"a plugin that is not confined, over IPv6", "free", "", "::1", six, "HTTP/1.1 200 OK"},
		{"a plugin that is not confined, by the socket", "free", "", s.socket("six"), "0", "HTTP/1.1 200 OK"},
		{"a plugin with a grant for another server reaches it", "peer", "net:localhost:" + s.other, "localhost", s.other, "HTTP/1.1 200 OK"},
		{"net:localhost does not lead to a daemon", "name", "net:localhost:" + four, "localhost", four, "error"},
		{"net:127.0.0.1 with all ports does not lead to a daemon", "address", "net:127.0.0.1:*", "127.0.0.1", four, "error"},
		{"an IPv4 address within IPv6 does not lead to a daemon", "mapped", "net:[::ffff:127.0.0.1]:" + four, "::ffff:127.0.0.1", four, "error"},
		{"net:[::1] does not lead to a daemon", "six", "net:[::1]:" + six, "::1", six, "error"},
		{"0.0.0.0 does not lead to a daemon", "none", "net:0.0.0.0:" + four, "0.0.0.0", four, "error"},
		{"the machine's own address does not lead to a daemon with a token", "own", "net:" + own + ":" + all, own, all, "error"},
		{"loopback does not lead to a daemon that listens on all addresses", "loop", "net:127.0.0.5:" + all, "127.0.0.5", all, "error"},
		{"net:* is refused without a token", "any", "net:*", "127.0.0.1", four, "HTTP/1.1 403 Forbidden"},
		{"net:* is refused without a token, over IPv6", "any6", "net:*", "::1", six, "HTTP/1.1 403 Forbidden"},
		{"net:* is refused without a token, over IPv4 within IPv6", "any46", "net:*", "::ffff:127.0.0.1", four, "HTTP/1.1 403 Forbidden"},
		{"net:* reaches a daemon with a token, which it does not have", "anyall", "net:*", own, all, "HTTP/1.1 401 Unauthorized"},
		{"the socket does not exist in the sandbox", "anyunix", "net:*", s.socket("six"), "0", "error"},
	}
	config := ""
	for _, c := range cases {
		write(s.t, s.home("four"), ".local/scaffold/plugins/"+c.plugin, callerPlugin)
		grants := ""
		if c.grants != "" {
			grants = fmt.Sprintf("[plugins.%s]\ncapabilities = [%q]\n", c.plugin, c.grants)
		}
		config += grants
		write(s.t, s.home("only-"+c.plugin), ".local/scaffold/plugins/"+c.plugin, callerPlugin)
		write(s.t, s.home("only-"+c.plugin), ".config/patchbay/config.toml", grants)
	}
	write(s.t, s.home("four"), ".config/patchbay/config.toml", config)
	s.giveHomesToUser()
	s.four, s.six, s.all = s.serve("four", "127.0.0.1:"+four), s.serve("six", "[::1]:"+six), s.serve("all", "0.0.0.0:"+all)
	answers := make(map[string]bool)
	for _, c := range cases {
		if s.user == 0 && answers[c.want] && !soak.Long() {
			continue // root is treated as any user here, so it tries one case of each answer; an ordinary user tries all
		}
		// A command starts all plugins of its home. The first case of each answer uses the home
		// with all plugins, the other cases a home with only one.
		home := "four"
		if answers[c.want] && !soak.Long() {
			home = "only-" + c.plugin
		}
		answers[c.want] = true
		s.t.Run(c.rule, func(t *testing.T) {
			for where, got := range map[string]string{
				"from the daemon itself": s.callByDaemon(t, c.plugin, c.host, c.port),
				"from another process":   s.callByCommand(t, home, c.plugin, c.host, c.port),
			} {
				if !strings.HasPrefix(got, c.want) {
					t.Errorf("%s: %s with %q at %s %s: %s, want %s", where, c.plugin, c.grants, c.host, c.port, got, c.want)
				}
			}
		})
	}
	s.t.Run("callers in other sandboxes are served", s.callFromOtherSandbox)
	s.t.Run("validated code reaches nothing outside", s.validate)
	s.t.Run("the log reports refusals", s.checkLog)
}

// checkLog ends the first daemon, and checks its log.
func (s *daemonGroup) checkLog(t *testing.T) {
	s.four.stop()
	for _, line := range []string{"where a Patchbay daemon listens, which no plugin in a sandbox may use", "caller refused", "the caller is in a sandbox of Patchbay's"} {
		if log := s.four.log.String(); !strings.Contains(log, line) {
			t.Errorf("the log has no %q:\n%s", line, log)
		}
	}
}

// validate makes the daemon check code that would write a file, and code that would call the
// daemon.
func (s *daemonGroup) validate(t *testing.T) {
	made := filepath.Join(s.home("four"), ".config/patchbay/made")
	for attempt, code := range map[string]string{
		"make a file":     fmt.Sprintf("open(%q, 'w').close()", made),
		"call the daemon": fmt.Sprintf("import urllib.request; urllib.request.urlopen('%s/v1/health', timeout=30).read()", s.four.url),
	} {
		body, err := json.Marshal(map[string]string{"name": "draft", "content": code + "\n@on_final\nasync def f(ctx, text): pass\n"})
		if err != nil {
			t.Fatal(err)
		}
		var answer struct{ Detail string }
		status := s.four.call("POST", "/plugin/validate", string(body), &answer)
		if status != http.StatusBadRequest || !strings.HasPrefix(answer.Detail, "Invalid plugin code: ") || !strings.Contains(answer.Detail, "tried out in a sandbox") {
			t.Errorf("%s: %d %s", attempt, status, answer.Detail)
		}
	}
	if _, err := os.Stat(made); err == nil {
		t.Error("the file was made")
	}
}

func (s *daemonGroup) home(name string) string { return filepath.Join(s.dir, name) }

func (s *daemonGroup) socket(home string) string {
	return filepath.Join(s.home(home), ".local/state/patchbay/patchbay.sock")
}

// giveHomesToUser makes the user the owner of the homes, and makes the plugins executable.
func (s *daemonGroup) giveHomesToUser() {
	s.t.Helper()
	err := filepath.WalkDir(s.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == s.dir || path == s.program {
			return err
		}
		return errors.Join(makeExecutable(path, entry, nil), os.Chown(path, s.user, s.user))
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// command returns patchbay as a command of the group's user.
func (s *daemonGroup) command(home string, args ...string) *exec.Cmd {
	cmd := patchbayIn(s.home(home), args...)
	cmd.Path, cmd.Err = s.program, nil
	if s.user != os.Geteuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(s.user), Gid: uint32(s.user)}}
	}
	return cmd
}

func (s *daemonGroup) serve(home, address string) *server {
	s.t.Helper()
	return serveAs(s.t, s.home(home), s.command(home, "serve", "--json", "--listen", address))
}

// callByCommand runs the plugin in a command, beside the daemons.
func (s *daemonGroup) callByCommand(t *testing.T, home, plugin, host, port string) string {
	t.Helper()
	cmd := s.command(home, "tool", "call", "plugin_"+plugin+"_request", "--args", fmt.Sprintf(`{"host":%q,"port":%s}`, host, port))
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s%s", err, out, complaints.String())
	}
	return string(out)
}

// callByDaemon runs the plugin in the first daemon. A daemon of another user cannot tell who calls
// it while a sandbox of the caller's user shares the network. Other tests sometimes have such a
// sandbox, so callByDaemon tries again.
func (s *daemonGroup) callByDaemon(t *testing.T, plugin, host, port string) string {
	t.Helper()
	var answer struct{ Result, Detail string }
	status := 0
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		status = s.four.call("POST", "/v1/tools/plugin_"+plugin+"_request/call", fmt.Sprintf(`{"arguments":{"host":%q,"port":%s}}`, host, port), &answer)
		if status != http.StatusForbidden || !strings.HasPrefix(answer.Detail, "Caller unknown") {
			break
		}
		http.DefaultClient.CloseIdleConnections() // each connection is checked once
	}
	if status != http.StatusOK {
		t.Fatalf("%d %s%s", status, answer.Detail, answer.Result)
	}
	return answer.Result
}

// callFromOtherSandbox runs a plugin, without Patchbay, in namespaces such as those that Codex and
// bubblewrap make. From there it calls a daemon, which must answer.
func (s *daemonGroup) callFromOtherSandbox(t *testing.T) {
	plugtest.NeedTool(t, "unshare")
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Fatal(err)
	}
	for _, home := range []string{"over TCP", "by the socket"} {
		host, port := s.socket("four"), "0"
		if home == "over TCP" {
			address, err := netip.ParseAddrPort(strings.TrimPrefix(s.four.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			host, port = address.Addr().String(), strconv.Itoa(int(address.Port()))
		}
		request := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tool/execute","params":{"arguments":{"host":%q,"port":%s}}}`, host, port)
		cmd := s.command("four")
		cmd.Path, cmd.Args = unshare, []string{"unshare", "--user", "--pid", "--fork", "--mount-proc",
			filepath.Join(s.home("four"), ".local/scaffold/plugins/free")}
		cmd.Stdin = strings.NewReader(request)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		var answer struct{ Result struct{ Result string } }
		if err := json.Unmarshal(out, &answer); err != nil || answer.Result.Result != "HTTP/1.1 200 OK" {
			t.Errorf("%s: %s", home, out)
		}
	}
}

// givenPorts has the ports that freePort has returned.
var givenPorts sync.Map

// freePort returns a port on which nothing listens, and which it has not returned before.
func freePort(t *testing.T) string {
	t.Helper()
	for range 1000 { // below the ports that Linux assigns by itself, so that no other process gets it first
		port := strconv.Itoa(20000 + rand.IntN(12000))
		if _, given := givenPorts.LoadOrStore(port, true); given {
			continue
		}
		if l, err := net.Listen("tcp", ":"+port); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("there are no free ports")
	return ""
}

// plainServer starts a server that is not a daemon and answers everything with 200.
func plainServer(t *testing.T) (port string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close(); <-done })
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// ownAddress returns an address of this machine that is not loopback.
func ownAddress(t *testing.T) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() && p.Addr().IsGlobalUnicast() {
			return p.Addr().String()
		}
	}
	t.Skip("this machine has loopback addresses only")
	return ""
}
