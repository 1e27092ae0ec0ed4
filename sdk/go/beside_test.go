package plugin_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	plugin "github.com/patchbay-dev/patchbay/sdk/go"
)

// meeting has a tool that waits until another call has come, and one that waits for the end of its
// context.
func meeting() *plugin.Plugin {
	p := plugin.New("meet", "1.0.0", "Waits for another call.")
	came := make(chan struct{})
	plugin.Tool(p, "wait", "Waits.", func(context.Context, struct{}) (string, error) {
		<-came
		return "met", nil
	})
	plugin.Tool(p, "come", "Comes.", func(context.Context, struct{}) (string, error) {
		close(came)
		return "came", nil
	})
	plugin.Tool(p, "end", "Waits for its end.", func(ctx context.Context, _ struct{}) (string, error) {
		<-ctx.Done()
		return "ended", nil
	})
	return p
}

// TestCallsSideBySide: while one handler waits, other handlers are called, and the health check is
// answered.
func TestCallsSideBySide(t *testing.T) {
	for _, c := range []struct {
		dialect plugin.Dialect
		send    []string
		answers int
	}{
		{plugin.Kaged, []string{
			`{"jsonrpc":"2.0","method":"initialize","params":{"api_version":1},"id":1}`,
			`{"jsonrpc":"2.0","method":"meet.wait","params":{},"id":2}`,
			`{"jsonrpc":"2.0","method":"health.check","params":{},"id":3}`,
			`{"jsonrpc":"2.0","method":"meet.come","params":{},"id":4}`}, 4},
		{plugin.MCP, []string{
			`{"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":"2025-06-18"},"id":1}`,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"wait"},"id":2}`,
			`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"end"},"id":3}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`,
			`{"jsonrpc":"2.0","method":"ping","id":5}`,
			`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"come"},"id":4}`}, 5},
	} {
		t.Run(string(c.dialect), func(t *testing.T) {
			stdin, in := io.Pipe()
			out, stdout := io.Pipe()
			exited := make(chan int, 1)
			go func() {
				exited <- meeting().Run(context.Background(), plugin.Process{Stdin: stdin, Stdout: stdout, Stderr: io.Discard})
				_ = stdout.Close() // a pipe in memory: it cannot fail
			}()
			go func() {
				for _, line := range c.send {
					fmt.Fprintln(in, line)
				}
			}()
			lines := bufio.NewScanner(out)
			for n := 0; n < c.answers && lines.Scan(); n++ {
				if strings.Contains(lines.Text(), `"error"`) {
					t.Error(lines.Text())
				}
			}
			_ = in.Close()
			want(t, "exit code", <-exited, 0)
		})
	}
}
