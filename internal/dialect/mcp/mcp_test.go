package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/mcpcall"
	"github.com/patchbay-dev/patchbay/internal/mcphttp"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
	"github.com/patchbay-dev/patchbay/internal/wire"
)

// patience is how long a test waits on a busy machine.
const patience = time.Minute

// A testBed is a host with MCP servers.
type testBed struct {
	*testing.T
	home string
	host *pluginhost.Host
	log  *plugtest.Log
}

// open opens a host with a configuration, in which HOME stands for the test's directory.
func open(t *testing.T, config string) *testBed {
	t.Helper()
	return openIn(t, t.TempDir(), config)
}

func openIn(t *testing.T, home, config string) *testBed {
	t.Helper()
	b := &testBed{T: t, home: home, log: &plugtest.Log{}}
	b.configure(config)
	host, err := pluginhost.Open(t.Context(), &pluginhost.Options{Environ: b.environ(), Dir: b.home, Remote: mcphttp.New,
		Logger: slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	b.host = host
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(b.log.String())
		}
	})
	return b
}

func (b *testBed) environ() []string {
	return []string{"HOME=" + b.home, "PATCHBAY_HOME=" + filepath.Join(b.home, "patchbay"), "PATH=" + os.Getenv("PATH"), "SECRET_OF_THE_HOST=s3cret"}
}

func (b *testBed) configure(config string) {
	b.Helper()
	dir := filepath.Join(b.home, "patchbay")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(strings.ReplaceAll(config, "HOME", b.home)), 0o600); err != nil {
		b.Fatal(err)
	}
}

// one opens a host with one server of a kind, called small.
func one(t *testing.T, kind string) *testBed {
	t.Helper()
	home := t.TempDir()
	path := plugtest.InstallMCP(t, home, kind)
	return openIn(t, home, fmt.Sprintf("[[mcp]]\nname = \"small\"\ncommand = [%q]\n", path))
}

func (b *testBed) call(ctx context.Context, tool, args string) (*pluginhost.ToolResult, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return b.host.CallTool(ctx, tool, json.RawMessage(args))
}

// must makes a call that has to succeed, and returns its result.
func (b *testBed) must(tool, args string) string {
	b.Helper()
	r, err := b.call(b.Context(), tool, args)
	if err != nil || !r.Success {
		b.Fatalf("%s: %+v, %v", tool, r, err)
	}
	return r.Result
}

// TestKinds makes the same calls to servers of each kind.
func TestKinds(t *testing.T) {
	for _, kind := range plugtest.MCPKinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := one(t, kind)
			if got := b.must("small_echo", `{"text":"hello"}`); got != "hello" {
				t.Errorf("echo: %q", got)
			}
			if got := b.must("small_picture", `{}`); got != "look\n[image image/png, 3 bytes]\n{\"n\":1}" {
				t.Errorf("a picture, and structured content, shown as text: %q", got)
			}
			r, err := b.call(t.Context(), "small_fail", `{}`)
			if err != nil || r.Success || r.Error != "it did not work" {
				t.Errorf("a tool that fails is a result: %+v, %v", r, err)
			}
			_, err = b.call(t.Context(), "small_refuse", `{}`)
			rpc, ok := errors.AsType[*wire.RPCError](err)
			if !ok || rpc.Code != -32021 || !strings.Contains(string(rpc.Data), "sampling") || !errors.Is(err, hook.Refused) {
				t.Errorf("an error of the protocol: %v", err)
			}
			if _, err := b.call(t.Context(), "small_huge", `{}`); !errors.Is(err, hook.TooLarge) {
				t.Errorf("an answer over the limit: %v", err)
			}
			b.offers()
			info, err := b.host.Plugin("small")
			want := map[string]string{plugtest.MCPHandshake: "2025-06-18", plugtest.MCPFragile: "2025-06-18"}[kind]
			if want == "" {
				want = "2026-07-28"
			}
			if err != nil || info.Version != "1.2.3" || info.Protocol != want || info.Dialect != "mcp" || info.State != dialect.Ready {
				t.Errorf("info: %+v, %v", info, err)
			}
		})
	}
}

// offers checks what the server offers besides tools.
func (b *testBed) offers() {
	b.Helper()
	var names []string
	for _, o := range b.host.Offers() {
		names = append(names, string(o.Kind)+" "+o.Name)
	}
	if want := []string{"prompt small_greet", "resource memo://one", "resource_template memo://{name}"}; !slices.Equal(names, want) {
		b.Errorf("offers %q, want %q", names, want)
	}
	got, err := b.host.CallMethod(b.Context(), "small", "prompts/get", json.RawMessage(`{"name":"small_greet","arguments":{"who":"Ann"}}`))
	if err != nil || !strings.Contains(string(got), "Greet Ann by greet.") {
		b.Errorf("a prompt, by the server's own name: %s, %v", got, err)
	}
	got, err = b.host.CallMethod(b.Context(), "small", "resources/read", json.RawMessage(`{"uri":"memo://one"}`))
	if err != nil || !strings.Contains(string(got), "a memo") {
		b.Errorf("a resource: %s, %v", got, err)
	}
	if _, err := b.host.CallMethod(b.Context(), "small", "tools/call", json.RawMessage(`{}`)); err == nil {
		b.Error("a tool was called as a method, past the plugins that look at tools")
	}
}

// TestListsChange: a tool that is added while the server runs can be called, and the host's
// watchers are notified: docs/protocols/mcp.md, row C26.
func TestListsChange(t *testing.T) {
	for _, kind := range []string{plugtest.MCPHandshake, plugtest.MCPModern} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := one(t, kind)
			told := make(chan dialect.Change, 16)
			defer b.host.Watch(func(c pluginhost.Change) { told <- c })()
			has := func() bool {
				return slices.ContainsFunc(b.host.Tools(), func(t pluginhost.Tool) bool { return t.Name == "small_grown" })
			}
			if has() {
				t.Fatal("the tool is there before it grew")
			}
			b.must("small_grow", `{}`)
			eventually.True(t, "the new tool is listed", has)
			if c := <-told; c.Kind != dialect.ToolsChanged {
				t.Errorf("told of %v", c)
			}
		})
	}
}

// TestProgressAndCancellation: progress reaches the client under its own token, and a call that it
// cancels is cancelled at the server: docs/protocols/mcp.md, row C28.
func TestProgressAndCancellation(t *testing.T) {
	b := one(t, plugtest.MCPHandshake)
	var mu sync.Mutex
	var heard []string
	ctx, cancel := context.WithCancel(t.Context())
	ctx = mcpcall.With(ctx, &mcpcall.Caller{Meta: json.RawMessage(`{"progressToken":"mine"}`), Progress: func(p json.RawMessage) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, string(p))
	}})
	if _, err := b.call(ctx, "small_slow", `{"end":"yes"}`); err != nil {
		t.Fatal(err)
	}
	if len(heard) != 2 || !strings.Contains(heard[0], `"progressToken":"mine"`) {
		t.Errorf("progress before the answer: %q", heard)
	}
	done := make(chan error, 1)
	go func() {
		_, err := b.call(ctx, "small_slow", `{}`)
		done <- err
	}()
	eventually.True(t, "the second call has begun", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(heard) == 4
	})
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was given up: %v", err)
	}
	eventually.True(t, "the server is told that the call was given up", func() bool {
		lines := plugtest.Recorded(t, b.home)
		return len(lines) == 1 && strings.HasPrefix(lines[0], "cancelled ")
	})
}

// TestQuestions: each kind of client can answer each kind of server: docs/protocols/mcp.md, row
// C30.
func TestQuestions(t *testing.T) {
	answers := func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		if method != "elicitation/create" || !strings.Contains(string(params), "Who?") {
			return nil, fmt.Errorf("asked for %s %s", method, params)
		}
		return json.RawMessage(`{"action":"accept","content":{"name":"Ann"}}`), nil
	}
	can := json.RawMessage(`{"elicitation":{}}`)
	t.Run("client and server with a handshake", func(t *testing.T) {
		b := one(t, plugtest.MCPHandshake)
		ctx := mcpcall.With(t.Context(), &mcpcall.Caller{Session: "s", Capabilities: can, Ask: answers})
		r, err := b.call(ctx, "small_ask", `{}`)
		if err != nil || !strings.Contains(r.Result, "Ann") {
			t.Errorf("%+v, %v", r, err)
		}
	})
	for _, kind := range []string{plugtest.MCPModern, plugtest.MCPHandshake} {
		t.Run("a client without sessions, a server that is "+kind, func(t *testing.T) {
			b := one(t, kind)
			caller := &mcpcall.Caller{Modern: true, Capabilities: can}
			r, err := b.call(mcpcall.With(t.Context(), caller), "small_ask", `{}`)
			if err != nil || !r.Pending {
				t.Fatalf("the client must be asked first: %+v, %v", r, err)
			}
			var asked struct {
				Requests map[string]json.RawMessage `json:"inputRequests"`
				State    string                     `json:"requestState"`
			}
			if err := json.Unmarshal(r.Raw, &asked); err != nil || len(asked.Requests) != 1 {
				t.Fatalf("%s: %v", r.Raw, err)
			}
			for id := range asked.Requests {
				caller = &mcpcall.Caller{Modern: true, Capabilities: can, State: asked.State,
					Inputs: fmt.Appendf(nil, `{%q:{"action":"accept","content":{"name":"Ann"}}}`, id)}
			}
			r, err = b.call(mcpcall.With(t.Context(), caller), "small_ask", `{}`)
			if err != nil || r.Pending || !strings.Contains(r.Result, "Ann") {
				t.Errorf("%+v, %v", r, err)
			}
			if kind == plugtest.MCPHandshake { // a call can be continued only once
				_, err = b.call(mcpcall.With(t.Context(), caller), "small_ask", `{}`)
				if rpc, ok := errors.AsType[*wire.RPCError](err); !ok || rpc.Code != -32602 {
					t.Errorf("the same state again: %v", err)
				}
			}
		})
	}
	t.Run("the caller takes no questions", func(t *testing.T) {
		b := one(t, plugtest.MCPModern)
		if r, err := b.call(t.Context(), "small_ask", `{}`); err != nil || r.Success || !strings.Contains(r.Error, "the caller takes no questions") {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("two clients at once", func(t *testing.T) {
		b := one(t, plugtest.MCPHandshake)
		waiting := mcpcall.With(t.Context(), &mcpcall.Caller{Session: "other", Meta: json.RawMessage(`{"progressToken":1}`), Progress: func(json.RawMessage) {}})
		other, end := context.WithCancel(waiting)
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			_, _ = b.call(other, "small_slow", `{}`)
		}()
		eventually.True(t, "the other's call is under way", func() bool {
			p, err := b.host.Plugin("small")
			return err == nil && p.Counters.Notifications >= 2
		})
		ctx := mcpcall.With(t.Context(), &mcpcall.Caller{Session: "s", Capabilities: can, Ask: answers})
		r, err := b.call(ctx, "small_ask", `{}`)
		if err != nil || strings.Contains(r.Result, "Ann") {
			t.Errorf("a question went to a client that it may not belong to: %+v, %v", r, err)
		}
		end()
		<-gone
	})
}

// TestLog: a line of the server's log reaches the client whose call is under way, before the
// answer: docs/protocols/mcp.md, row C29.
func TestLog(t *testing.T) {
	b := one(t, plugtest.MCPHandshake)
	var heard []string
	ctx := mcpcall.With(t.Context(), &mcpcall.Caller{Log: func(p json.RawMessage) { heard = append(heard, string(p)) }})
	if _, err := b.call(ctx, "small_log", `{}`); err != nil || len(heard) != 1 || !strings.Contains(heard[0], "a line") {
		t.Errorf("%q, %v", heard, err)
	}
}

// TestCrash: the call reports how the server ended, and later calls reach the restarted server:
// docs/protocols/mcp.md, row C32.
func TestCrash(t *testing.T) {
	b := one(t, plugtest.MCPBoth)
	_, err := b.call(t.Context(), "small_crash", `{}`)
	if !errors.Is(err, hook.Crash) || !strings.Contains(err.Error(), "exit code 7") {
		t.Errorf("%v", err)
	}
	eventually.True(t, "the server works again", func() bool {
		r, err := b.call(t.Context(), "small_echo", `{"text":"again"}`)
		return err == nil && r.Result == "again"
	})
	if p, err := b.host.Plugin("small"); err != nil || p.Counters.Restarts != 1 {
		t.Errorf("restarts: %+v, %v", p, err)
	}
}

// TestMisbehaviour plays every misbehaviour of the common fakes during a call, and then checks that
// the server works again.
func TestMisbehaviour(t *testing.T) {
	for behaviour, want := range map[string]hook.Kind{
		"ok": "", "interleaved": "", "notify": "", "request": "", "slow-line": "", "reply-twice": "", "stderr-flood": "", "banner": "", "ignore-sigterm": "",
		"no-newline": "", "hang": hook.Timeout, "late-reply": hook.Timeout, "bad-json": hook.Timeout, "no-result": hook.Garbled, "wrong-type": hook.Garbled,
		"huge": hook.TooLarge, "half-line": hook.Crash, "crash": hook.Crash, "kill-self": hook.Crash, "fork-and-exit": hook.Crash, "close-stdout": hook.Crash,
		"error": hook.Refused, "wrong-id": hook.Timeout,
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			path := plugtest.InstallFake(t, home, behaviour)
			timeout := "1m"
			if want == hook.Timeout {
				timeout = "1s"
			}
			b := openIn(t, home, fmt.Sprintf("[[mcp]]\nname = \"bad\"\ncommand = [%q]\n[plugins.bad]\ntool_timeout = %q\n", path, timeout))
			r, err := b.call(t.Context(), "bad_make", `{}`)
			if want == "" && (err != nil || !r.Success) || want != "" && !errors.Is(err, want) {
				t.Errorf("%+v, %v; want %q", r, err, want)
			}
			eventually.True(t, "the server works afterwards", func() bool {
				r, err := b.call(t.Context(), "bad_make", `{}`)
				return err == nil && r.Success
			})
		})
	}
	for _, behaviour := range []string{"exit-at-start", "odd-welcome", "old-version"} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			b := openIn(t, home, fmt.Sprintf("[[mcp]]\nname = \"bad\"\ncommand = [%q]\n", plugtest.InstallFake(t, home, behaviour)))
			if p, err := b.host.Plugin("bad"); err != nil || p.State != dialect.Broken {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
}

// TestOddLists: whatever the host leaves out of a server's lists is reported.
func TestOddLists(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	b := openIn(t, home, fmt.Sprintf("[[mcp]]\nname = \"odd\"\ncommand = [%q]\n", plugtest.InstallFake(t, home, "odd-lists")))
	info, err := b.host.Plugin("odd")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"its list of tools has more than 100 pages", "two prompts that are called odd_greet", "a resource without a uri"} {
		if !slices.ContainsFunc(info.Problems, func(p dialect.Problem) bool { return strings.Contains(p.Message, want) }) {
			t.Errorf("no problem says %q: %+v", want, info.Problems)
		}
	}
	if n := len(b.host.Tools()); n != 100 {
		t.Errorf("%d tools, want those of the first 100 pages", n)
	}
}

// TestEnvironment: a server gets the variables that its table sets, secrets filled in, and no
// others of the host: docs/protocols/mcp.md, row C33.
func TestEnvironment(t *testing.T) {
	home := t.TempDir()
	path := plugtest.InstallMCP(t, home, plugtest.MCPBoth)
	if err := os.MkdirAll(filepath.Join(home, "patchbay"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "patchbay", "secrets.toml"), []byte(`TOKEN = "t0ken"`), 0o600); err != nil {
		t.Fatal(err)
	}
	b := openIn(t, home, fmt.Sprintf("[[mcp]]\nname = \"small\"\ncommand = [%q]\nprefix = \"\"\nenv = { KEY = \"a ${TOKEN} $${x}\" }\n[[mcp]]\nname = \"lacking\"\ncommand = [%q]\nenv = { K = \"${NOWHERE}\" }\n", path, path))
	if got := b.must("getenv", `{"name":"KEY"}`); got != "a t0ken ${x}" {
		t.Errorf("KEY is %q", got)
	}
	if got := b.must("getenv", `{"name":"SECRET_OF_THE_HOST"}`); got != "" {
		t.Errorf("the host's variable is there: %q", got)
	}
	if got := b.must("where", `{}`); got != home {
		t.Errorf("the server works in %q, want %q", got, home)
	}
	p, err := b.host.Plugin("lacking")
	if err != nil || p.State != dialect.Broken || p.Error == nil || !strings.Contains(*p.Error, "NOWHERE") {
		t.Errorf("a secret that does not exist: %+v, %v", p, err)
	}
	if log := b.log.String(); strings.Contains(log, "t0ken") {
		t.Error("the log has the secret")
	}
}

// TestSettingsThatAServerNeverGets: a config, and a table of the secrets file, are warnings.
func TestSettingsThatAServerNeverGets(t *testing.T) {
	home := t.TempDir()
	path := plugtest.InstallMCP(t, home, plugtest.MCPBoth)
	if err := os.MkdirAll(filepath.Join(home, "patchbay"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "patchbay", "secrets.toml"), []byte("[plugins.small]\nTOKEN = \"t0ken\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := openIn(t, home, fmt.Sprintf("[[mcp]]\nname = \"small\"\ncommand = [%q]\n[plugins.small]\nconfig = { a = 1 }\n", path))
	var problems, fixes []string
	for _, f := range b.host.Doctor() {
		if f.Severity == pluginhost.SeverityWarning {
			problems, fixes = append(problems, f.Problem), append(fixes, f.Fix)
		}
	}
	want := []string{"the config of [plugins.small] has no effect: mcp plugins get none", "[plugins.small] in the secrets file has no effect: mcp plugins do not get it"}
	if !slices.Equal(problems, want) || !strings.Contains(fixes[1], "${NAME} in env or headers") {
		t.Errorf("%q, %q", problems, fixes)
	}
}

// TestReload: a server whose table has changed is opened anew, one whose table was removed is
// closed, and the others go on: docs/protocols/mcp.md, row C36.
func TestReload(t *testing.T) {
	home := t.TempDir()
	path := plugtest.InstallMCP(t, home, plugtest.MCPBoth)
	table := func(name, extra string) string {
		return fmt.Sprintf("[[mcp]]\nname = %q\ncommand = [%q]\n%s\n", name, path, extra)
	}
	b := openIn(t, home, table("stays", "")+table("changes", "env = { KEY = \"1\" }")+table("goes", ""))
	pid := func(name string) int {
		p, err := b.host.Plugin(name)
		if err != nil || p.Pid == nil {
			return 0
		}
		return *p.Pid
	}
	stays, changes := pid("stays"), pid("changes")
	b.configure(table("stays", "") + table("changes", "env = { KEY = \"2\" }") + table("comes", ""))
	if err := b.host.Reload(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if pid("stays") != stays || pid("changes") == changes || pid("goes") != 0 || pid("comes") == 0 {
		t.Errorf("stays %d→%d, changes %d→%d, goes %d, comes %d", stays, pid("stays"), changes, pid("changes"), pid("goes"), pid("comes"))
	}
	if got := b.must("changes_getenv", `{"name":"KEY"}`); got != "2" {
		t.Errorf("KEY is %q", got)
	}
}
