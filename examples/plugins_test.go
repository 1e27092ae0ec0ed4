package examples

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// install copies an example plugin to the place of its dialect, as its header says, and opens a
// host that finds it.
func install(t *testing.T, plugin, folder string, needs ...string) *pluginhost.Host {
	t.Helper()
	for _, tool := range needs {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s here", tool)
		}
	}
	text, err := os.ReadFile(filepath.Join("plugins", plugin))
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	path := filepath.Join(home, folder, plugin)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir()) // plugins of these dialects run in the host's directory
	host, err := pluginhost.Open(t.Context(), &pluginhost.Options{Environ: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")},
		Needs: func(c pluginhost.Candidate) bool { return c.Path == path }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	})
	if p := host.Plugins(); len(p) != 1 || p[0].Error != nil || p[0].Description == "" {
		t.Fatalf("plugins: %+v", p)
	}
	return host
}

// fire sends a payload through the plugin, and decodes the result.
func fire(ctx context.Context, t *testing.T, host *pluginhost.Host, point hook.Point, payload map[string]any) map[string]any {
	t.Helper()
	out, err := host.Fire(ctx, point, payload)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range out.Steps {
		if step.Err != nil {
			t.Error(step.Err)
		}
	}
	var after map[string]any
	if err := json.Unmarshal(out.Payload, &after); err != nil {
		t.Fatal(err)
	}
	return after
}

func TestGitStatus(t *testing.T) {
	host := install(t, "git-status", ".local/scaffold/plugins", "bash", "git")
	contextAfter := func(before string) string {
		t.Helper()
		after := fire(t.Context(), t, host, hook.PromptContext, map[string]any{
			"user_message": `say "dynamic_context":"nonsense"`, "dynamic_context": before})
		return after["dynamic_context"].(string)
	}
	t.Run("outside a repository the context stays as it is", func(t *testing.T) {
		if got := contextAfter("You are kind."); got != "You are kind." {
			t.Errorf("got %q", got)
		}
	})
	git(t, "init", "--quiet", "--initial-branch", "trunk")
	t.Run("branch and changes come after the context", func(t *testing.T) {
		touch(t, "new file.txt")
		want := "You are kind.\n\n# Git status\n## No commits yet on trunk\n?? \"new file.txt\"\n"
		if got := contextAfter("You are kind."); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("special characters in the context are preserved", func(t *testing.T) {
		odd := "tabs\tand \"quotes\", C:\\dir\\, émigrés, 二,\n<&> and \u0001"
		if got := contextAfter(odd); !strings.HasPrefix(got, odd+"\n\n# Git status\n") {
			t.Errorf("got %q", got)
		}
	})
	t.Run("a thousand changes are cut", func(t *testing.T) {
		for i := range 200 {
			touch(t, "file"+strings.Repeat("x", i))
		}
		if got := strings.Count(contextAfter(""), "\n"); got > 60 {
			t.Errorf("%d lines", got)
		}
	})
}

func git(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v: %s", args, err, out)
	}
}

func touch(t *testing.T, name string) {
	t.Helper()
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestKeepSecrets(t *testing.T) {
	host := install(t, "keep_secrets.py", ".agent/plugins", "python3")
	const (
		begin = "-----BEGIN PRIVATE KEY-----"
		end   = "-----END PRIVATE KEY-----"
		same  = "The password policy is basic understanding.\nhttps://example.org:80/a@b"
		code  = "def login(user: str, token: str) -> bool: max_tokens = 80"
	)
	long := strings.Repeat("tokens", 10_000) // quadratic time would take minutes
	for name, c := range map[string]struct{ before, after string }{
		"an assignment":                  {"DB_PASSWORD=swordfish\nPORT=80", "DB_PASSWORD=[hidden]\nPORT=80"},
		"a value in quotes":              {`password = "open sesame", then`, `password = "[hidden]", then`},
		"a field of JSON":                {`{"api_key": "abc123", "port": 80}`, `{"api_key": "[hidden]", "port": 80}`},
		"a header":                       {"Authorization: Bearer abcdefgh.12345\n", "Authorization: Bearer [hidden]\n"},
		"an address":                     {"https://me:swordfish@example.org/x", "https://me:[hidden]@example.org/x"},
		"a private key":                  {begin + "\nAAAA\n" + end + "\nmore", begin + "[hidden]" + end + "\nmore"},
		"a private key, cut off":         {begin + "\nAAAA", begin + "[hidden]"},
		"prose stays":                    {same, same},
		"code stays":                     {code, code},
		"a very long word takes no time": {long, long},
	} {
		t.Run(name, func(t *testing.T) {
			if got := fire(t.Context(), t, host, hook.ToolAfter, toolResult(c.before))["result"]; got != c.after {
				t.Errorf("got %.200q, want %.200q", got, c.after)
			}
		})
	}
	t.Run("the answer says how many there were", func(t *testing.T) {
		ctx := hook.WithRequest(t.Context(), "one turn")
		fire(ctx, t, host, hook.TurnBegin, map[string]any{"session_id": "s", "working_dir": "/", "user_text": "what is in .env?"})
		fire(ctx, t, host, hook.ToolAfter, toolResult("password=a1\ntoken=b2"))
		after := fire(ctx, t, host, hook.TurnFinal, map[string]any{"text": "Two values."})
		if want := "Two values.\n\n(2 secrets were kept from the model.)"; after["text"] != want {
			t.Errorf("got %q, want %q", after["text"], want)
		}
	})
	t.Run("an answer without secrets stays as it is", func(t *testing.T) {
		ctx := hook.WithRequest(t.Context(), "another turn")
		if after := fire(ctx, t, host, hook.TurnFinal, map[string]any{"text": "Nothing."}); after["text"] != "Nothing." {
			t.Errorf("got %q", after["text"])
		}
	})
}

// toolResult returns the payload of a tool that has answered.
func toolResult(text string) map[string]any {
	return map[string]any{"tool": "read_file", "call_id": "1", "arguments": map[string]any{"path": ".env"},
		"result": text, "success": true, "error": nil}
}
