package plugin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	plugin "github.com/patchbay-dev/patchbay/sdk/go"
)

// asPlugin is a variable that makes the test binary a plugin.
const asPlugin = "SDK_TEST_PLUGIN"

func TestMain(m *testing.M) {
	switch os.Getenv(asPlugin) {
	case "whole":
		newWhole().plugin.Main()
	case "slow":
		slow().Main()
	}
	os.Exit(m.Run())
}

// slow prints where it must not, and has a tool that waits for the end of its context.
func slow() *plugin.Plugin {
	p := plugin.New("slow", "1.0.0", "Waits.")
	plugin.Tool(p, "wait", "Waits for its end.", func(ctx context.Context, _ struct{}) (string, error) {
		fmt.Println("a stray line")
		<-ctx.Done()
		p.Log().Info("ended", "cause", context.Cause(ctx))
		return "", context.Cause(ctx)
	})
	p.Stop(func(context.Context) error {
		p.Log().Info("stopped")
		return nil
	})
	return p
}

func command(t *testing.T, kind string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = []string{asPlugin + "=" + kind, "HOME=" + t.TempDir()}
	return cmd
}

// TestStdoutIsTheProtocols: the program's own output goes to stderr, and a signal ends it in order.
func TestStdoutIsTheProtocols(t *testing.T) {
	cmd := command(t, "slow")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, said := &bytes.Buffer{}, &watched{until: "a stray line", found: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = out, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprint(in, `{"jsonrpc":"2.0","method":"initialize","params":{"protocol_version":1},"id":1}`+"\n"+
		`{"jsonrpc":"2.0","method":"tool/execute","params":{"name":"wait","arguments":{}},"id":2}`+"\n"); err != nil {
		t.Fatal(err)
	}
	<-said.found
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its exit code says how it ended
	want(t, "exit code", cmd.ProcessState.ExitCode(), 128+15)
	wantHas(t, "log", said.text.String(), "stopped")
	for line := range strings.Lines(out.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("stdout has %q", line)
		}
	}
}

// watched is a buffer that signals when a text has arrived.
type watched struct {
	text  bytes.Buffer // written by the one goroutine that reads stderr, and read after that goroutine has ended
	until string
	found chan struct{}
	done  bool
}

func (w *watched) Write(p []byte) (int, error) {
	n, err := w.text.Write(p)
	if !w.done && strings.Contains(w.text.String(), w.until) {
		w.done = true
		close(w.found)
	}
	return n, err
}

// TestACommandPrints: in a command stdout is the user's.
func TestACommandPrints(t *testing.T) {
	cmd := command(t, "whole")
	cmd.Env = append(cmd.Env, `MINE_INVOCATION={"protocol_version":"1.0.0","type":"command","command":"greet","args":["you"]}`)
	cmd.Stdin = strings.NewReader("!")
	out, err := cmd.Output()
	want(t, "error", err, nil)
	want(t, "stdout", string(out), "hello you!\n")
}

// run runs a plugin in the test's own process.
func run(p *plugin.Plugin, stdin string, args ...string) (code int, stdout, stderr string) {
	var out, said bytes.Buffer
	code = p.Run(context.Background(), plugin.Process{Program: "/x/whole", Args: args, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &said})
	return code, out.String(), said.String()
}

func TestDetection(t *testing.T) {
	for _, stdin := range []string{"", "hello", "[]", `{"a":1}`, `{"type":"hook"}`, `{"jsonrpc":"2.0","id":{},"method":"initialize"}`} {
		t.Run("refused: "+stdin, func(t *testing.T) {
			code, out, said := run(newWhole().plugin, stdin)
			want(t, "code", code, 2)
			want(t, "stdout", out, "")
			wantHas(t, "stderr", said, "cannot tell which protocol the host speaks")
		})
	}
	for _, params := range []string{"{}", "[]", "null", `{"protocol_version":1,"protocolVersion":"2025-06-18"}`} {
		t.Run("a handshake of no protocol, or of two: "+params, func(t *testing.T) {
			_, out, _ := run(newWhole().plugin, `{"jsonrpc":"2.0","method":"initialize","params":`+params+`,"id":1}`+"\n")
			if !strings.Contains(out, "cannot tell which protocol this is") && !strings.Contains(out, "are not an object") {
				t.Errorf("got %s", out)
			}
		})
	}
	t.Run("an envelope may have several lines", func(t *testing.T) {
		code, out, _ := run(newWhole().plugin, "{\n \"protocol_version\": \"1.0.0\",\n \"type\": \"lifecycle\", \"event\": \"health\"\n}")
		want(t, "code", code, 0)
		want(t, "stdout", out, "{\"status\":\"ok\"}\n")
	})
	t.Run("another version of a protocol is refused", func(t *testing.T) {
		code, _, said := run(newWhole().plugin, `{"protocol_version":"2.0.0","type":"lifecycle","event":"health"}`)
		want(t, "code", code, 1)
		wantHas(t, "mine", said, "UNSUPPORTED_PROTOCOL_VERSION")
		_, out, _ := run(newWhole().plugin, `{"jsonrpc":"2.0","method":"initialize","params":{"api_version":2},"id":1}`+"\n")
		wantHas(t, "kaged", out, "api_version is 2")
	})
	t.Run("nothing is no config", func(t *testing.T) {
		_, out, _ := run(newWhole().plugin, "", "validate")
		wantHas(t, "stdout", out, `{"ok":false,`)
	})
	t.Run("arguments that are not known are refused", func(t *testing.T) {
		for _, args := range [][]string{{"frobnicate"}, {"info", "info"}, {"manifest"}, {"manifest", "kaged", "mine"}} {
			code, _, _ := run(newWhole().plugin, "", args...)
			want(t, strings.Join(args, " "), code, 2)
		}
	})
	t.Run("help says where the program goes", func(t *testing.T) {
		code, out, _ := run(slow(), "", "--help")
		want(t, "code", code, 0)
		wantHas(t, "stdout", out, "  kaged     mkdir -p ~/.local/share/kaged/plugins/slow && cp whole ~/.local/share/kaged/plugins/slow/, and beside it: whole manifest kaged >manifest.yaml\n"+
			"  scaffold  mkdir -p ~/.local/scaffold/plugins && cp whole ~/.local/scaffold/plugins/\n")
	})
	t.Run("a dialect that the plugin has nothing for is refused", func(t *testing.T) {
		code, out, _ := run(slow(), "", "info")
		want(t, "code", code, 1)
		wantHas(t, "stdout", out, "slow has nothing for dotagent: it needs a handler of job.preflight")
	})
}

// TestConversation: what a host may do beside calling handlers.
func TestConversation(t *testing.T) {
	long := `{"jsonrpc":"2.0","method":"x","params":"` + strings.Repeat("x", 17<<20) + `","id":3}`
	_, out, _ := run(newWhole().plugin, strings.Join([]string{
		`{"jsonrpc":"2.0","method":"server/discover","id":0}`, ``,
		`{"jsonrpc":"2.0","method":"initialize","params":{"protocol_version":1},"id":"one"}`,
		`nonsense`, long,
		`{"jsonrpc":"2.0","method":"no/such","id":4}`,
		`{"jsonrpc":"2.0","method":"hook/post_user_input","params":[],"id":5}`,
		`{"jsonrpc":"2.0","id":9,"result":{}}`,
		`{"jsonrpc":"2.0","method":"hook/post_user_input","params":{"message":"a"}}`,
		`{"jsonrpc":"2.0","method":"shutdown","params":{},"id":6}`,
		`{"jsonrpc":"2.0","method":"no/such","id":7}`,
	}, "\n"))
	var got []string
	for line := range strings.Lines(out) {
		var m struct {
			ID     json.RawMessage
			Error  struct{ Code int }
			Result json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		got = append(got, fmt.Sprint(string(m.ID), ":", m.Error.Code))
	}
	want(t, "answers", strings.Join(got, " "), `0:-32601 "one":0 null:-32600 null:-32001 4:-32601 5:-32602 6:0`)
}

// TestTheReadmesProgramCompiles builds the first program of README.md.
func TestTheReadmesProgramCompiles(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go here to build with")
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(readme), "```go\n")
	program, _, _ = strings.Cut(program, "```")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"main.go": program, "go.mod": "module words\n\ngo 1.26\n\nrequire github.com/patchbay-dev/patchbay/sdk/go v0.0.0\n\n" +
		"replace github.com/patchbay-dev/patchbay/sdk/go => " + here + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-o", os.DevNull, ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
