package wire

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
)

func newSerial(t testing.TB, o Options) (*Serial, *far, *noises) {
	r, w, f := newPair(t)
	heard := newNoises()
	o.OnNoise = heard.add
	return NewSerial(r, w, o), f, heard
}

func TestSerialSendsTheIDLast(t *testing.T) {
	s, f, _ := newSerial(t, Options{})
	go func() {
		_, _ = s.Call(soon(t), "initialize", []byte(`{"protocol_version":1}`))
		_, _ = s.Call(soon(t), "shut\"down", nil)
	}()
	if got, want := f.read(), `{"jsonrpc":"2.0","method":"initialize","params":{"protocol_version":1},"id":1}`; got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
	f.write(`{"id":1,"result":null}` + "\n")
	if got, want := f.read(), `{"jsonrpc":"2.0","method":"shut\"down","params":{},"id":2}`; got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
	f.write(`{"id":2,"result":null}` + "\n")
}

func TestSerialReply(t *testing.T) {
	tests := []struct{ rule, sent, want, noise string }{
		{"a result is accepted", `{"jsonrpc":"2.0","id":1,"result":{"a":1}}`, `{"a":1}`, ""},
		{"keys come in any order", `{"result":[1],"id":1,"jsonrpc":"2.0"}`, `[1]`, ""},
		{"null is a result", `{"id":1,"result":null}`, `null`, ""},
		{"unknown keys are ignored", `{"id":1,"x":{"id":2,"result":0},"result":1,"meta":[]}`, `1`, ""},
		{"a key may be repeated", `{"id":1,"result":1,"id":1,"result":1}`, `1`, ""},
		{"keys may be escaped", `{"\u0069d":1,"re\u0073ult":1}`, `1`, ""},
		{"the result is compact", `{ "id" : 1 , "result" : { "a" : [ 1, "b c" ] } } `, `{"a":[1,"b c"]}`, ""},
		{"the result is valid UTF-8", "{\"id\":1,\"result\":\"a\xffb\"}", "\"a\uFFFDb\"", ""},
		{"CRLF ends a line", `{"id":1,"result":1}` + "\r", `1`, ""},
		{"empty lines are ignored", "\n\r\n  \n" + `{"id":1,"result":1}`, `1`, ""},
		{"the id may be a string", `{"id":"1","result":1}`, `1`, ""},
		{"the id may be a float", `{"id":1.0,"result":1}`, `1`, ""},
		{"the id may have an exponent", `{"id":1e0,"result":1}`, `1`, ""},
		{"error null beside a result is not an error", `{"id":1,"result":1,"error":null}`, `1`, ""},
		{"a reply may echo the method", `{"id":1,"method":"m","params":{},"result":1}`, `1`, ""},
		{"an id never issued is accepted, with a warning", `{"id":77,"result":1}`, `1`, "wrong id"},
		{"an id that is not a number is accepted, with a warning", `{"id":"abc","result":1}`, `1`, "wrong id"},
		{"id null is accepted, with a warning", `{"id":null,"result":1}`, `1`, "wrong id"},
		{"a reply without an id is accepted, with a warning", `{"result":1}`, `1`, "wrong id"},
		{"garbage is ignored", "Loading…\n[1,2]\n{\"id\":1,\n\"result\":0}\n{\"id\":1,\"result\":1}", `1`, "garbage, garbage, garbage, garbage"},
		{"a JSON log line is ignored", `{"level":"info","id":7}` + "\n" + `{"id":1,"result":1}`, `1`, "garbage"},
		{"a notification is ignored", `{"method":"progress","params":{}}` + "\n" + `{"id":1,"result":1}`, `1`, "unasked"},
		{"a notification may have id null", `{"method":"progress","id":null}` + "\n" + `{"id":1,"result":1}`, `1`, "unasked"},
		{"two messages may share a line", `{"method":"progress"}{"id":1,"result":1}`, `1`, "unasked"},
		{"a second reply on the line is stale", `{"id":1,"result":1} {"id":1,"result":2}`, `1`, "stale reply"},
		{"garbage after the reply is ignored", `{"id":1,"result":1}}`, `1`, "garbage"},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			s, f, heard := newSerial(t, Options{})
			f.play(tt.sent + "\n")
			got, err := s.Call(soon(t), "m", nil)
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v; want %s", got, err, tt.want)
			}
			if heard.kinds() != tt.noise {
				t.Errorf("noises: %q, want %q", heard.kinds(), tt.noise)
			}
		})
	}
}

// TestAnAcceptedReplySaysSo: the noise of a reply with a wrong id says that the call was answered.
func TestAnAcceptedReplySaysSo(t *testing.T) {
	s, f, heard := newSerial(t, Options{})
	f.play(`{"id":77,"result":1}` + "\n")
	if _, err := s.Call(soon(t), "m", nil); err != nil {
		t.Fatal(err)
	}
	heard.wait(t, "wrong id")
	if why := heard.all[0].Why; !strings.Contains(why, "accepted") {
		t.Errorf("why: %q", why)
	}
}

func TestSerialError(t *testing.T) {
	tests := []struct {
		rule, sent string
		want       error
	}{
		{"an error is returned", `{"id":1,"error":{"code":-32601,"message":"no \"m\"","data":{ "a":1 }}}`,
			&RPCError{Code: -32601, Message: `no "m"`, Data: []byte(`{"a":1}`)}},
		{"an error counts more than a result", `{"id":1,"result":1,"error":{"code":5,"message":"x"}}`, &RPCError{Code: 5, Message: "x"}},
		{"an error may be a string", `{"id":1,"error":"broken"}`, &RPCError{Message: "broken"}},
		{"an error may lack everything", `{"id":1,"error":{}}`, &RPCError{}},
		{"a code that is not an integer becomes 0", `{"id":1,"error":{"code":1e99,"message":7}}`, &RPCError{}},
		{"another kind of error is malformed", `{"id":1,"error":7}`,
			&MalformedError{Line: `{"id":1,"error":7}`, Why: "error is neither an object nor a string"}},
		{"neither result nor error is malformed", `{"id":1,"status":"ok"}`,
			&MalformedError{Line: `{"id":1,"status":"ok"}`, Why: "neither result nor error"}},
		{"error null alone is malformed", `{"id":1,"error":null}`,
			&MalformedError{Line: `{"id":1,"error":null}`, Why: "neither result nor error"}},
		{"two results are malformed", `{"id":1,"result":1,"result":2}`,
			&MalformedError{Line: `{"id":1,"result":1,"result":2}`, Why: `the field "result" has two values`}},
		{"two ids are malformed", `{"id":9,"result":0,"id":1}`,
			&MalformedError{Line: `{"id":9,"result":0,"id":1}`, Why: `the field "id" has two values`}},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			s, f, _ := newSerial(t, Options{})
			f.play(tt.sent+"\n", `{"id":2,"result":2}`+"\n")
			if _, err := s.Call(soon(t), "m", nil); !reflect.DeepEqual(err, tt.want) {
				t.Errorf("err = %#v, want %#v", err, tt.want)
			}
			if got, err := s.Call(soon(t), "m", nil); err != nil || string(got) != "2" {
				t.Errorf("the next call got %s, %v", got, err)
			}
		})
	}
}

func TestGarbageOnSeveralLinesSaysWhatIsWrong(t *testing.T) {
	s, f, heard := newSerial(t, Options{})
	f.play("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\n" + `{"id":1,"result":1}` + "\n")
	if _, err := s.Call(soon(t), "m", nil); err != nil {
		t.Fatal(err)
	}
	if noise := heard.all[0]; !strings.Contains(noise.Why, "one JSON object on one line") || !strings.HasPrefix(noise.Line, `{"jsonrpc"`) {
		t.Errorf("noise: %+v", noise)
	}
}

func TestNoiseIsCut(t *testing.T) {
	s, f, heard := newSerial(t, Options{})
	f.play(strings.Repeat("é", 1000) + "\n" + `{"id":"` + strings.Repeat("9", 500) + `","result":1}` + "\n")
	if _, err := s.Call(soon(t), "m", nil); err != nil {
		t.Fatal(err)
	}
	for _, noise := range heard.all {
		if len(noise.Line) > 200 || len(noise.ID) > 64 {
			t.Errorf("noise of %d and %d bytes", len(noise.Line), len(noise.ID))
		}
	}
}

func mustCall(t *testing.T, s *Serial, want string) {
	t.Helper()
	if got, err := s.Call(soon(t), "m", nil); err != nil || string(got) != want {
		t.Fatalf("got %s, %v; want %s", got, err, want)
	}
}

func timeOut(t *testing.T, s *Serial) {
	t.Helper()
	if _, err := s.Call(never(t), "m", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("err = %v, want the deadline", err)
	}
}

func TestSerialAnswersRequestsOfThePlugin(t *testing.T) {
	s, f, heard := newSerial(t, Options{})
	var result string
	done := make(chan struct{})
	go func() {
		defer close(done)
		got, err := s.Call(soon(t), "m", nil)
		result = fmt.Sprint(string(got), err)
	}()
	f.read()
	f.write(`{"id":"q-1","method":"host/ask","params":{}}` + "\n")
	if got, want := f.read(), `{"jsonrpc":"2.0","id":"q-1","error":{"code":-32601,"message":"Method not found"}}`; got != want {
		t.Errorf("answered %s, want %s", got, want)
	}
	f.write(`{"id":1,"result":1}` + "\n")
	<-done
	if result != "1<nil>" {
		t.Errorf("the call got %s", result)
	}
	heard.wait(t, "unasked")

	t.Run("answers to a plugin that does not read are dropped beyond a limit, and no line is broken", func(t *testing.T) {
		const asked = 20_000 // their answers are more than a pipe holds
		s, f, heard := newSerial(t, Options{})
		go func() {
			f.read()
			f.write(strings.Repeat(`{"id":5,"method":"ask"}`+"\n", asked) + `{"id":1,"result":1}` + "\n")
		}()
		mustCall(t, s, "1")
		if len(s.out)+len(s.answers) > 2*maxAnswers {
			t.Errorf("%d bytes wait", len(s.out)+len(s.answers))
		}
		if !strings.Contains(heard.kinds(), "unsent answer") {
			t.Error("none was dropped")
		}
		answered := make(chan int)
		go func() {
			for n := 0; ; n++ {
				m, err := scanMessage([]byte(f.read()), 0)
				if err != nil {
					t.Errorf("line %d is broken: %v", n, err)
				}
				if m.method.End > 0 {
					f.write(`{"id":2,"result":2}` + "\n")
					answered <- n
					return
				}
			}
		}()
		mustCall(t, s, "2")
		if n := <-answered; n < 1000 || n >= asked {
			t.Errorf("%d of %d were answered", n, asked)
		}
	})
	t.Run("requests between the calls are answered too", func(t *testing.T) {
		f.write(`{"id":5,"method":"host/ask"}` + "\n")
		go func() { _, _ = s.Call(soon(t), "m", nil) }()
		lines := f.read() + "\n" + f.read()
		if !strings.Contains(lines, `"id":5,"error"`) || !strings.Contains(lines, `"method":"m"`) {
			t.Errorf("sent %s", lines)
		}
		f.write(`{"id":2,"result":1}` + "\n")
	})
}

func TestSerialEnd(t *testing.T) {
	t.Run("the end of the output is ErrClosed, now and later", func(t *testing.T) {
		s, f, _ := newSerial(t, Options{})
		go func() {
			f.read()
			_ = f.w.Close()
		}()
		for range 2 {
			if _, err := s.Call(soon(t), "m", nil); !errors.Is(err, ErrClosed) {
				t.Errorf("err = %v", err)
			}
		}
	})
	t.Run("a last reply without newline counts", func(t *testing.T) {
		s, f, _ := newSerial(t, Options{})
		go func() {
			f.read()
			f.write(`{"id":1,"result":1}`)
			_ = f.w.Close()
		}()
		mustCall(t, s, "1")
		if _, err := s.Call(soon(t), "m", nil); !errors.Is(err, ErrClosed) {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("the error quotes half a line at the end", func(t *testing.T) {
		s, f, _ := newSerial(t, Options{})
		go func() {
			f.read()
			f.write(`{"id":1,"resu`)
			_ = f.w.Close()
		}()
		if _, err := s.Call(soon(t), "m", nil); !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), `{\"id\":1,\"resu`) {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("a closed input is ErrClosed", func(t *testing.T) {
		s, f, _ := newSerial(t, Options{})
		_ = f.r.Close()
		if _, err := s.Call(soon(t), "m", nil); !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), "input") {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("Close interrupts a call, and may be repeated", func(t *testing.T) {
		s, f, _ := newSerial(t, Options{})
		failed := make(chan error)
		go func() {
			_, err := s.Call(context.Background(), "m", nil)
			failed <- err
		}()
		f.read()
		if err := errors.Join(s.Close(), s.Close()); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := <-failed; !errors.Is(err, ErrClosed) {
			t.Errorf("err = %v", err)
		}
		if _, err := s.Call(soon(t), "m", nil); !errors.Is(err, ErrClosed) {
			t.Errorf("a later call: %v", err)
		}
	})
}

func TestSerialIsForManyGoroutines(t *testing.T) {
	c := startChild(t, "serve")
	s := NewSerial(c.r, c.w, Options{})
	ctx := soon(t)
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() {
			for j := range 50 {
				want := fmt.Sprintf(`{"n":%d}`, 1000*i+j)
				if got, err := s.Call(ctx, "echo", []byte(want)); err != nil || string(got) != want {
					t.Errorf("got %s, %v; want %s", got, err, want)
				}
			}
		})
	}
	callers.Wait()
}

func TestGivenUpIsBounded(t *testing.T) {
	var f givenUp
	for id := range uint64(5 * maxGivenUp) {
		f.add(id + 1)
	}
	if len(f.ids) != maxGivenUp {
		t.Errorf("%d ids are kept", len(f.ids))
	}
	if f.take(1) || f.take(0) || !f.take(5*maxGivenUp) || f.take(5*maxGivenUp) {
		t.Error("the oldest was kept, or the newest was not, or was found twice")
	}
}

func TestSerialWithoutDeadlines(t *testing.T) {
	r, w, f := newPair(t)
	s := NewSerial(r, w, Options{})
	s.src, s.tryR, s.tryW = s.r, nil, nil // as on a system whose pipes cannot be used without waiting
	f.play(`{"id":1,"result":1}`+"\n", `{"id":2,"result":2}`+"\n", `{"id":3,"result":3}`+"\n", `{"id":77,"result":7}`+"\n")
	for _, want := range []string{"1", "2", "3", "7"} { // the last one is accepted at once, without a wait for a better one
		if s.echoes() {
			t.Error("a reply could be held, but no wait for a better one would end")
		}
		mustCall(t, s, want)
	}
}
