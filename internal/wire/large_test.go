package wire

import (
	"bytes"
	"strings"
	"testing"
)

func TestRoomFor(t *testing.T) {
	t.Run("a buffer that a connection keeps is returned as it is", func(t *testing.T) {
		buf := append(make([]byte, 0, 100), "abc"...)
		if got := roomFor(buf, 1000); cap(got) != 100 || string(got) != "abc" {
			t.Errorf("%d bytes for %q", cap(got), got)
		}
	})
	t.Run("a large buffer has room at once, and the same content", func(t *testing.T) {
		for range 3 { // a new buffer, and one from the pool
			got := roomFor([]byte("abc"), 2*keepBuffer)
			if cap(got) < 2*keepBuffer+3 || string(got) != "abc" {
				t.Errorf("%d bytes for %.10q", cap(got), got)
			}
			release(append(got, bytes.Repeat([]byte("x"), 2*keepBuffer)...))
		}
	})
	t.Run("a request fits into its estimated size", func(t *testing.T) {
		params := []byte(`{"a":"` + strings.Repeat("x", keepBuffer) + `"}`)
		const method = "kaged.hook.on_session_start"
		if n := len(appendRequest(nil, method, params, 1<<63)); n > requestSize(method, params) {
			t.Errorf("%d bytes, asked for %d", n, requestSize(method, params))
		}
	})
	t.Run("a small buffer is not given back", func(t *testing.T) {
		release(make([]byte, 0, keepBuffer))
		if got := roomFor(nil, keepBuffer+1); cap(got) <= keepBuffer {
			t.Errorf("%d bytes", cap(got))
		}
	})
}
