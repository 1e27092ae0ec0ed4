package mcp

import (
	"fmt"
	"io"
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
		l := newLines(strings.NewReader(request("1", strings.Repeat("x", 100<<10))+request(`"\u0061"`, "")), io.Discard)
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
