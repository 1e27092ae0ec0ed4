package mcp

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
)

// TestTheEndWaitsForEachAnswer: the end of the input is reported after all answers. The answer to a
// request that was too long to be counted does not stand for that of another request.
func TestTheEndWaitsForEachAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		request := func(id, more string) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"ping","params":{"x":"%s"}}`+"\n", id, more)
		}
		l := newLines(strings.NewReader(request("1", strings.Repeat("x", 100<<10))+request(`"\u0061"`, "")), io.Discard, slog.New(slog.DiscardHandler))
		ended := make(chan error, 1)
		go func() {
			_, err := io.ReadAll(l)
			ended <- err
		}()
		synctest.Wait()
		answer := func(id string) {
			if _, err := fmt.Fprintf(l, `{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", id); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		answer("1")
		if len(ended) > 0 {
			t.Error("the input ended before the second answer")
		}
		answer(`"a"`)
		if len(ended) == 0 {
			t.Error("the input did not end after the second answer")
		}
		<-ended
	})
}

// TestLinesThatAreNoMessages: the server goes on after a line that is not a message, and answers it
// if it has an id.
func TestLinesThatAreNoMessages(t *testing.T) {
	const ping = `{"jsonrpc":"2.0","method":"ping"}` // without an id no answer is waited for
	for line, answer := range map[string]string{
		"garbage": "", "{": "", "null": "", "[]": "", `"x"`: "", "{} {}": "", "\xff\xfe": "", "": "", " \t\r": "", `[1]`: "", `{"jsonrpc":"2.0","id":{},"method":"ping"}`: "",
		`{"jsonrpc":"1.0","id":"a","method":"ping"}`: `"id":"a","error":{"code":-32600`,
		`{"id":-3,"method":"ping"}`:                  `"id":-3,"error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":4,"method":5}`:        `"id":4,"error":{"code":-32600`,
	} {
		var out strings.Builder
		read, err := io.ReadAll(newLines(strings.NewReader(line+"\n"+ping+" "), &out, slog.New(slog.DiscardHandler)))
		if err != nil || string(read) != ping+"\n" || !strings.Contains(out.String(), answer) || (answer == "") != (out.Len() == 0) {
			t.Errorf("%q: read %q, %v; answered %q", line, read, err, out.String())
		}
	}
	const both = "[" + ping + "," + ping + "]"
	if read, err := io.ReadAll(newLines(strings.NewReader(both+"\r\n"), io.Discard, slog.New(slog.DiscardHandler))); err != nil || string(read) != both+"\n" {
		t.Errorf("a list: %q, %v", read, err)
	}
}
