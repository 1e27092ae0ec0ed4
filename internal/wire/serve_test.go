package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestServe(t *testing.T) {
	answer := func(method string, params json.RawMessage) (json.RawMessage, error) {
		switch method {
		case "echo":
			return params, nil
		case "none":
			return nil, nil
		case "wide":
			return json.RawMessage("{\n  \"a\": 1\n}"), nil
		case "rpc":
			return nil, &RPCError{Code: -32601, Message: "no such thing", Data: json.RawMessage(`[1]`)}
		}
		return nil, errors.New("broken " + method)
	}
	tests := []struct{ rule, in, want string }{
		{"a request is answered", `{"jsonrpc":"2.0","method":"echo","params":{"a":1},"id":1}`, `{"jsonrpc":"2.0","id":1,"result":{"a":1}}`},
		{"the id comes back as it was", `{"method":"none","id":"a\u0062"}`, `{"jsonrpc":"2.0","id":"a\u0062","result":null}`},
		{"params may be absent", `{"method":"echo","id":1}`, `{"jsonrpc":"2.0","id":1,"result":null}`},
		{"a result over several lines is sent on one", `{"method":"wide","id":1}`, `{"jsonrpc":"2.0","id":1,"result":{"a":1}}`},
		{"an RPCError goes out as such", `{"method":"rpc","id":1}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such thing","data":[1]}}`},
		{"another error is -32603", `{"method":"x","id":1}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"broken x"}}`},
		{"a notification is not answered", `{"method":"echo","params":{}}`, ``},
		{"a notification that fails is not answered", `{"method":"x","params":{}}`, ``},
		{"an empty line is ignored", "\n\r\n", ``},
		{"two requests on a line get two replies", `{"method":"none","id":1}{"method":"none","id":2}`, `{"jsonrpc":"2.0","id":1,"result":null}` + "\n" + `{"jsonrpc":"2.0","id":2,"result":null}`},
		{"a request without a method is -32600", `{"id":1}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request"}}`},
	}
	for _, tt := range tests {
		for _, end := range []string{"\n", ""} {
			t.Run(tt.rule, func(t *testing.T) {
				for _, serve := range []func(io.Reader, io.Writer, Answer) error{Serve, ServeLent} {
					var out bytes.Buffer
					if err := serve(strings.NewReader(tt.in+end), &out, answer); err != nil {
						t.Fatal(err)
					}
					if got := strings.TrimSuffix(out.String(), "\n"); got != tt.want {
						t.Errorf("got %s, want %s", got, tt.want)
					}
				}
			})
		}
	}
	t.Run("garbage is -32700, and the next request is answered", func(t *testing.T) {
		var out bytes.Buffer
		if err := Serve(strings.NewReader("garbage\n"+`{"method":"none","id":1}`+"\n"), &out, answer); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); !strings.Contains(got, `"id":null,"error":{"code":-32700`) || !strings.Contains(got, `"id":1,"result":null`) {
			t.Errorf("got %s", got)
		}
	})
	t.Run("a request over the cap is an error, and the next one is answered", func(t *testing.T) {
		var out bytes.Buffer
		huge := io.MultiReader(io.LimitReader(endless{}, serveMax+1), strings.NewReader("\n"+`{"method":"none","id":1}`+"\n"))
		if err := Serve(huge, &out, answer); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); !strings.Contains(got, `too large`) || !strings.Contains(got, `"id":1,"result":null`) {
			t.Errorf("got %s", got)
		}
	})
	t.Run("an output that fails ends Serve", func(t *testing.T) {
		r, w := io.Pipe()
		_ = r.Close()
		if err := Serve(strings.NewReader(`{"method":"none","id":1}`+"\n"), w, answer); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("err = %v", err)
		}
	})
}

// writes records the writes that it gets.
type writes []string

func (w *writes) Write(p []byte) (int, error) {
	*w = append(*w, string(p))
	return len(p), nil
}

func TestServeWrites(t *testing.T) {
	many := strings.Repeat(`{"method":"m","id":1}`+"\n", 10)
	writesOf := func(t *testing.T, answerTime time.Duration) (out writes) {
		synctest.Test(t, func(*testing.T) {
			_ = Serve(strings.NewReader(many), &out, func(string, json.RawMessage) (json.RawMessage, error) {
				time.Sleep(answerTime)
				return nil, nil
			})
		})
		return out
	}
	t.Run("requests that came together are answered with one write", func(t *testing.T) {
		if out := writesOf(t, 0); len(out) > 2 || strings.Count(strings.Join(out, ""), "\n") != 10 {
			t.Errorf("%d writes: %q", len(out), out)
		}
	})
	t.Run("a slow answer is not waited for", func(t *testing.T) {
		if out := writesOf(t, 2*quickAnswer); len(out) != 10 {
			t.Errorf("%d writes: %q", len(out), out)
		}
	})
}

func TestServeOwnsParams(t *testing.T) {
	var kept []json.RawMessage
	requests := `{"method":"m","params":"first"}` + "\n" + `{"method":"m","params":"other"}` + "\n"
	source := sources["byte by byte"](strings.NewReader(requests)) // so that the buffer is reused
	err := Serve(source, io.Discard, func(_ string, params json.RawMessage) (json.RawMessage, error) {
		kept = append(kept, params)
		return nil, nil
	})
	if err != nil || string(kept[0]) != `"first"` || string(kept[1]) != `"other"` {
		t.Errorf("kept %s, %v", kept, err)
	}
}

// TestServeKnowsAMethodAgain: the kept method is used only for the same method.
func TestServeKnowsAMethodAgain(t *testing.T) {
	var methods []string
	in := `{"id":1,"method":"a.b"}` + "\n" + `{"id":2,"method":"a.b"}` + "\n" + `{"id":3,"method":"a.c"}` + "\n" +
		`{"id":4,"method":"1"}` + "\n" + `{"id":5,"method":[1]}` + "\n" + `{"id":6,"method":"\u0031"}` + "\n" + `{"id":7,"method":"1"}` + "\n"
	err := Serve(strings.NewReader(in), io.Discard, func(method string, _ json.RawMessage) (json.RawMessage, error) {
		methods = append(methods, method)
		return nil, nil
	})
	if got, want := strings.Join(methods, " "), "a.b a.b a.c 1 1 1"; err != nil || got != want {
		t.Errorf("methods %q, %v; want %q", got, err, want)
	}
}
