package pluginhost_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// watcherPrefix is the prefix of the names under which the test binary runs as a plugin. The plugin
// lets events pass, and changes only the arguments of tools.
const watcherPrefix = "bench-watcher-"

// watch runs that plugin. It speaks scaffold and kaged. It decodes nothing, so that the benchmark
// measures the host.
func watch(name string) {
	in, out := bufio.NewReaderSize(os.Stdin, 2<<20), bufio.NewWriter(os.Stdout)
	for {
		line, err := in.ReadSlice('\n') // the buffer is larger than the largest message
		if err != nil {
			return
		}
		id := line[bytes.LastIndex(line, []byte(`"id":`))+len(`"id":`):]
		if i := bytes.Index(line[:min(64, len(line))], []byte(`"id":`)); i >= 0 {
			id = line[i+len(`"id":`):]
		}
		id = id[:bytes.IndexAny(id, ",}")]
		head := line[:min(200, len(line))]
		result := "null"
		switch {
		case bytes.Contains(head, []byte(`"initialize"`)):
			result = fmt.Sprintf(`{"name":%q,"version":"1.0.0","api_version":1,"hooks":["post_user_input","pre_tool_execute"],"methods":[],"notifications":[],"capabilities_used":[]}`, name)
		case !bytes.Contains(line, []byte(`"id":`)):
			continue
		case bytes.Contains(head, []byte("post_user_input")):
			result = `{"action":"continue"}`
		case bytes.Contains(head, []byte("pre_tool_execute")):
			result = editArguments(line)
		case bytes.Contains(head, []byte("health.check")), bytes.Contains(head, []byte("shutdown")):
			result = `{"ok":true}`
		}
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
		if out.Flush() != nil {
			return
		}
	}
}

// editArguments returns the arguments of a tool with another first letter.
func editArguments(line []byte) string {
	_, params, _ := bytes.Cut(line, []byte(`"params":{`))
	params = params[:bytes.LastIndex(params, []byte(`}"}`))+len(`}"}`)]
	return `{"action":"continue",` + strings.Replace(string(params), "the quick", "The quick", 1)
}

// watchers opens a host with n such plugins.
func watchers(b *testing.B, dialect string, n int) *pluginhost.Host {
	b.Helper()
	home := b.TempDir()
	for i := range n {
		name := fmt.Sprintf("w%02d", i)
		dir := filepath.Join(home, ".local/scaffold/plugins")
		if dialect == "kaged" {
			dir = filepath.Join(home, ".local/share/kaged/plugins", name)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		plugtest.InstallSelf(b, filepath.Join(dir, watcherPrefix+name))
		if dialect != "kaged" {
			continue
		}
		manifest := fmt.Sprintf("name: %s\nversion: 1.0.0\nkaged_api: 1\ndescription: watches\ncommand: [./%s%s]\nhooks: [on_session_start]\n", name, watcherPrefix, name)
		if err := os.WriteFile(filepath.Join(dir, "manifest.yaml"), []byte(manifest), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(home, ".config/patchbay"), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".config/patchbay/config.toml"), []byte("sandbox = \"off\"\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	host, err := pluginhost.Open(b.Context(), &pluginhost.Options{Dir: home, Environ: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := host.Close(); err != nil {
			b.Error(err)
		}
	})
	ready := 0
	for _, p := range host.Plugins() {
		if p.State == "ready" {
			ready++
		} else {
			b.Logf("%s: %s %v", p.Name, p.State, *p.Error)
		}
	}
	if ready != n {
		b.Fatalf("%d of %d plugins are ready", ready, n)
	}
	return host
}

func benchFire(b *testing.B, host *pluginhost.Host, point hook.Point, payload json.RawMessage, steps int) {
	b.ReportAllocs()
	b.SetBytes(int64(len(payload)))
	for b.Loop() {
		out, err := host.Fire(b.Context(), point, payload)
		if err != nil || len(out.Steps) != steps {
			b.Fatal(out, err)
		}
		for i := range out.Steps {
			if out.Steps[i].Err != nil {
				b.Fatal(out.Steps[i].Err)
			}
		}
	}
}

// BenchmarkFirePayload fires events of several sizes through one watching plugin.
func BenchmarkFirePayload(b *testing.B) {
	for dialect, point := range map[string]hook.Point{"scaffold": hook.TurnInput, "kaged": hook.SessionStart} {
		b.Run(dialect, func(b *testing.B) {
			host := watchers(b, dialect, 1)
			for _, kib := range []int{16, 64, 256, 1024} {
				payload := json.RawMessage(`{"message":"` + strings.Repeat("the quick brown fox ", kib<<10/20) + `"}`)
				b.Run(fmt.Sprintf("%dKiB", kib), func(b *testing.B) { benchFire(b, host, point, payload, 1) })
			}
		})
	}
}

// BenchmarkFireEdit fires tool calls whose arguments the plugin changes.
func BenchmarkFireEdit(b *testing.B) {
	host := watchers(b, "scaffold", 1)
	for _, size := range []int{300, 64 << 10} {
		payload := json.RawMessage(`{"tool":"note","arguments":{"message":"` + strings.Repeat("the quick brown fox ", size/20) + `"}}`)
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			benchFire(b, host, hook.ToolBefore, payload, 1)
			if out, err := host.Fire(b.Context(), hook.ToolBefore, payload); err != nil || !out.Steps[0].Changed {
				b.Fatal("nothing was changed", err)
			}
		})
	}
}

// BenchmarkFireInFlight fires small events from 64 goroutines at one plugin.
func BenchmarkFireInFlight(b *testing.B) {
	host := watchers(b, "kaged", 1)
	payload := json.RawMessage(`{"message":"` + strings.Repeat("x", 280) + `"}`)
	b.ReportAllocs()
	b.SetParallelism(max(1, 64/runtime.GOMAXPROCS(0)))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if out, err := host.Fire(b.Context(), hook.SessionStart, payload); err != nil || out.Steps[0].Err != nil {
				b.Error(out, err)
				return
			}
		}
	})
}

// BenchmarkFirePlugins fires a small event through many plugins, one after another. ns/plugin is
// the cost of each. With "bare" there is no host: the benchmark writes to the pipes of the same
// processes, in the same order.
func BenchmarkFirePlugins(b *testing.B) {
	for _, n := range []int{1, 4, 16, 64} {
		b.Run(fmt.Sprintf("bare/%d", n), func(b *testing.B) { benchBare(b, n) })
	}
	payload := json.RawMessage(`{"message":"` + strings.Repeat("x", 280) + `"}`)
	for dialect, point := range map[string]hook.Point{"scaffold": hook.TurnInput, "kaged": hook.SessionStart} {
		for _, n := range []int{1, 4, 16, 64} {
			if dialect == "scaffold" && n > 16 {
				continue // the protocol allows no more
			}
			b.Run(fmt.Sprintf("%s/%d", dialect, n), func(b *testing.B) {
				host := watchers(b, dialect, n)
				benchFire(b, host, point, payload, n)
				perPlugin(b, n)
			})
		}
	}
}

func benchBare(b *testing.B, n int) {
	self := filepath.Join(b.TempDir(), watcherPrefix+"bare")
	plugtest.InstallSelf(b, self)
	type pipes struct {
		in  io.Writer
		out *bufio.Reader
	}
	all := make([]pipes, n)
	for i := range all {
		cmd := exec.Command(self)
		in, err := cmd.StdinPipe()
		out, outErr := cmd.StdoutPipe()
		if err := errors.Join(err, outErr, cmd.Start()); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
				b.Error(err)
			}
		})
		all[i] = pipes{in, bufio.NewReader(out)}
	}
	line := []byte(`{"jsonrpc":"2.0","method":"hook/post_user_input","params":{"message":"` + strings.Repeat("x", 280) + `"},"id":1}` + "\n")
	for b.Loop() {
		for _, p := range all {
			if _, err := p.in.Write(line); err != nil {
				b.Fatal(err)
			}
			if _, err := p.out.ReadSlice('\n'); err != nil {
				b.Fatal(err)
			}
		}
	}
	perPlugin(b, n)
}

// perPlugin reports the cost of each of n plugins.
func perPlugin(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/plugin")
}
