package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
)

func newPeer(t testing.TB, o PeerOptions) (*Peer, *far, *noises) {
	r, w, f := newPair(t)
	heard := newNoises()
	o.OnNoise = heard.add
	p := NewPeer(r, w, o)
	t.Cleanup(func() { _ = p.Close() })
	return p, f, heard
}

// An outcome is what a call returned.
type outcome struct {
	result string
	err    error
}

// start makes a call in the background, and returns the channel for its outcome.
func start(ctx context.Context, p *Peer, method string) chan outcome {
	done := make(chan outcome, 1)
	go func() {
		result, err := p.Call(ctx, method, nil)
		done <- outcome{string(result), err}
	}()
	return done
}

func TestPeerRepliesInAnyOrder(t *testing.T) {
	p, f, heard := newPeer(t, PeerOptions{})
	const calls = 100
	var outcomes []chan outcome
	for i := range calls {
		outcomes = append(outcomes, start(soon(t), p, fmt.Sprintf("m%d", i)))
	}
	methods := map[int]string{} // by id
	for range calls {
		var request struct {
			ID     int
			Method string
		}
		if err := json.Unmarshal([]byte(f.read()), &request); err != nil {
			t.Fatal(err)
		}
		methods[request.ID] = request.Method
	}
	for id := calls; id > 0; id-- {
		f.write(fmt.Sprintf(`{"id":%d,"result":%q}`+"\n", id, methods[id]))
	}
	for i, done := range outcomes {
		if got, want := <-done, fmt.Sprintf(`"m%d"`, i); got.err != nil || got.result != want {
			t.Errorf("call %d got %s, %v", i, got.result, got.err)
		}
	}
	heard.wait(t, "")
}

func TestPeerOddReplies(t *testing.T) {
	p, f, heard := newPeer(t, PeerOptions{})
	if _, err := p.Call(never(t), "m", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("err = %v", err)
	}
	done := start(soon(t), p, "m")
	f.read()
	f.read()
	f.write("garbage\n" + // belongs to no call
		`{"id":1,"result":"late"}` + "\n" +
		`{"id":1,"result":"later"}` + "\n" + // a call is late only once
		`{"id":99,"result":"never issued"}` + "\n" +
		`{"id":null,"error":{"code":-32700,"message":"parse"}}` + "\n" +
		`{"id":99,"status":"neither"}` + "\n" +
		`{"id":"2","result":2}` + `{"id":2,"result":"again"}` + "\n")
	if got := <-done; got.result != "2" {
		t.Errorf("got %s, %v", got.result, got.err)
	}
	heard.wait(t, "garbage, late reply, duplicate reply, wrong id, wrong id, garbage, duplicate reply")
}

func TestPeerErrors(t *testing.T) {
	p, f, _ := newPeer(t, PeerOptions{})
	f.play(`{"id":1,"error":{"code":7,"message":"seven"}}`+"\n", `{"id":2}`+"\n", `{"id":3,"result":{"a": 1}}`+"\n")
	var rpc *RPCError
	if _, err := p.Call(soon(t), "m", nil); !errors.As(err, &rpc) || rpc.Code != 7 {
		t.Errorf("err = %v", err)
	}
	var malformed *MalformedError
	if _, err := p.Call(soon(t), "m", nil); !errors.As(err, &malformed) {
		t.Errorf("err = %v", err)
	}
	if got, err := p.Call(soon(t), "m", nil); err != nil || string(got) != `{"a":1}` {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestPeerSize(t *testing.T) {
	const limit = 2000
	large := strings.Repeat("x", 3*limit)
	o := PeerOptions{Options: Options{MaxReceive: limit, MaxSend: limit}}
	tests := []struct{ rule, reply string }{
		{"with its id first", `{"id":1,"result":"` + large + `"}`},
		{"with its id last", `{"result":"` + large + `","id":1}`},
		{"with its id last and much larger", `{"result":"` + strings.Repeat(large, 100) + `","id": "1" }` + "\r"},
		{"just over the cap", `{"result":"` + strings.Repeat("x", limit) + `","id":1}`},
	}
	for _, tt := range tests {
		t.Run("a reply that is too large fails its call, "+tt.rule, func(t *testing.T) {
			p, f, heard := newPeer(t, o)
			first := start(soon(t), p, "m")
			f.read()
			second := start(soon(t), p, "m")
			f.read()
			f.write(tt.reply + "\n" + `{"id":2,"result":2}` + "\n")
			if got := <-first; !errors.Is(got.err, ErrTooLarge) {
				t.Errorf("err = %v", got.err)
			}
			if got := <-second; got.result != "2" {
				t.Errorf("the other call got %s, %v", got.result, got.err)
			}
			heard.wait(t, "")
		})
	}
	t.Run("each of two large replies in a row fails its own call", func(t *testing.T) {
		p, f, heard := newPeer(t, o)
		first := start(soon(t), p, "m")
		f.read()
		second := start(soon(t), p, "m")
		f.read()
		f.write(`{"result":"` + large + `","id":2}` + "\n" + `{"result":"` + large + `","id":1}` + "\n")
		for _, done := range []chan outcome{first, second} {
			if got := <-done; !errors.Is(got.err, ErrTooLarge) {
				t.Errorf("got %s, %v", got.result, got.err)
			}
		}
		heard.wait(t, "")
	})
	t.Run("if the id of a large reply is not known, its call ends with its context", func(t *testing.T) {
		p, f, heard := newPeer(t, o)
		ctx, cancel := context.WithCancel(context.Background())
		done := start(ctx, p, "m")
		f.read()
		f.write(`{"result":"` + large + `","id":1,"more":0}` + "\n")
		heard.wait(t, "too large")
		cancel()
		if got := <-done; !errors.Is(got.err, context.Canceled) {
			t.Errorf("err = %v", got.err)
		}
	})
	t.Run("a call that gets no reply because a large line does not end says so", func(t *testing.T) {
		p, f, heard := newPeer(t, o)
		f.write(`{"method":"log","params":"` + large)
		heard.wait(t, "too large")
		_, err := p.Call(never(t), "m", nil)
		if !errors.Is(err, ErrTooLarge) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("in the middle of the line: %v", err)
		}
		f.write(`"}` + "\n" + `{"method":"log"}` + "\n")
		heard.wait(t, "too large, unasked")
		if _, err := p.Call(never(t), "m", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after its end: %v", err)
		}
	})
	for _, tt := range []struct{ rule, request, id string }{
		{"with its id first", `{"id":"a","method":"put","params":{"v":"` + large + `"}}`, `"a"`},
		{"with its id last", `{"method":"put","params":{"v":"` + large + `"},"id":"a"}`, `"a"`},
		{"with its params first", `{"params":{"v":"` + large + `"},"method":"put","id":"a"}`, `"a"`},
		{"with the id of a call of ours", `{"id":1,"method":"put","params":{"v":"` + large + `"}}`, `1`},
		{"with the id of a call of ours last", `{"params":{"v":"` + large + `"},"method":"put","id":1}`, `1`},
		{"just over the cap", `{"method":"put","params":{"v":"` + strings.Repeat("x", limit-30) + `"},"id":"a"}`, `"a"`},
	} {
		t.Run("a request that is too large is answered with an error, "+tt.rule, func(t *testing.T) {
			p, f, heard := newPeer(t, o)
			done := start(soon(t), p, "m")
			f.read()
			f.write(tt.request + "\n")
			if got, want := f.read(), fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"message too large: the limit is %d bytes"}}`, tt.id, limit); got != want {
				t.Errorf("answered with %s, want %s", got, want)
			}
			heard.wait(t, "too large")
			f.write(`{"id":1,"result":1}` + "\n")
			if got := <-done; got.result != "1" {
				t.Errorf("the call got %s, %v", got.result, got.err)
			}
		})
	}
	t.Run("a notification that is too large is not answered", func(t *testing.T) {
		_, f, heard := newPeer(t, o)
		f.write(`{"method":"log","params":{"id":7,"text":"` + large + `"}}` + "\n" + `{"id":1,"method":"m"}` + "\n")
		heard.wait(t, "too large")
		if got := f.read(); !strings.Contains(got, "Method not found") {
			t.Errorf("answered with %s", got)
		}
	})
	t.Run("a notification that is too large is a noise at once", func(t *testing.T) {
		_, f, heard := newPeer(t, o)
		f.write(`{"method":"log","params":"` + large) // its end is still to come
		heard.wait(t, "too large")
	})
	t.Run("a request that is too large is not sent", func(t *testing.T) {
		p, f, _ := newPeer(t, o)
		params := []byte(`"` + large + `"`)
		if _, err := p.Call(soon(t), "m", params); !errors.Is(err, ErrTooLarge) {
			t.Errorf("Call: %v", err)
		}
		if err := p.Notify(soon(t), "m", params); !errors.Is(err, ErrTooLarge) {
			t.Errorf("Notify: %v", err)
		}
		if err := p.Notify(soon(t), "fits", nil); err != nil {
			t.Errorf("Notify: %v", err)
		}
		if got, want := f.read(), `{"jsonrpc":"2.0","method":"fits","params":{}}`; got != want {
			t.Errorf("sent %s, want %s", got, want)
		}
	})
}

func TestPeerEnd(t *testing.T) {
	t.Run("calls under way end with the plugin's output", func(t *testing.T) {
		p, f, _ := newPeer(t, PeerOptions{})
		var outcomes []chan outcome
		for range 10 {
			outcomes = append(outcomes, start(soon(t), p, "m"))
			f.read()
		}
		f.write(`{"id":3,"result":3}`) // its last message, without a newline
		_ = f.w.Close()
		answered := 0
		for _, done := range outcomes {
			if got := <-done; got.result == "3" {
				answered++
			} else if !errors.Is(got.err, ErrClosed) {
				t.Errorf("got %s, %v", got.result, got.err)
			}
		}
		if answered != 1 {
			t.Errorf("%d calls were answered by the last message, want 1", answered)
		}
		<-p.Done()
		if _, err := p.Call(soon(t), "m", nil); !errors.Is(err, ErrClosed) {
			t.Errorf("a later call: %v", err)
		}
	})
	t.Run("a closed input ends the connection", func(t *testing.T) {
		p, f, _ := newPeer(t, PeerOptions{})
		_ = f.r.Close()
		if _, err := p.Call(soon(t), "m", nil); !errors.Is(err, ErrClosed) {
			t.Errorf("err = %v", err)
		}
		<-p.Done()
	})
	t.Run("Close ends calls, and may be repeated and concurrent", func(t *testing.T) {
		p, f, _ := newPeer(t, PeerOptions{})
		done := start(context.Background(), p, "m")
		f.read()
		var closers sync.WaitGroup
		for range 4 {
			closers.Go(func() {
				if err := p.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
		}
		closers.Wait()
		if got := <-done; !errors.Is(got.err, ErrClosed) {
			t.Errorf("err = %v", got.err)
		}
		if err := p.Notify(context.Background(), "m", nil); !errors.Is(err, ErrClosed) {
			t.Errorf("Notify: %v", err)
		}
	})
	t.Run("a context that is done sends nothing", func(t *testing.T) {
		p, f, _ := newPeer(t, PeerOptions{})
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := p.Call(ctx, "m", nil)
		if !errors.Is(err, context.Canceled) || !errors.Is(p.Notify(ctx, "m", nil), context.Canceled) {
			t.Errorf("err = %v", err)
		}
		_ = p.Notify(soon(t), "only", nil)
		if got := f.read(); !strings.Contains(got, "only") {
			t.Errorf("sent %s", got)
		}
	})
}

func TestPeerPluginThatDoesNotRead(t *testing.T) {
	params := []byte(`"` + strings.Repeat("x", 900<<10) + `"`)
	fillUp := func(t *testing.T, p *Peer) (sent int) {
		for ; ; sent++ {
			err := p.Notify(soon(t), "m", params)
			if errors.Is(err, ErrBacklog) {
				return sent
			}
			if err != nil || sent > 100 {
				t.Fatalf("after %d messages: %v", sent, err)
			}
		}
	}
	t.Run("the queue is bounded, calls end with their contexts, and all is sent when it reads", func(t *testing.T) {
		p, f, _ := newPeer(t, PeerOptions{})
		if _, err := p.Call(never(t), "m", params); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("err = %v", err)
		}
		sent := fillUp(t, p)
		if _, err := p.Call(soon(t), "m", params); !errors.Is(err, ErrBacklog) {
			t.Errorf("err = %v", err)
		}
		for range sent + 1 {
			line := f.read()
			if m, err := scanMessage([]byte(line), 0); err != nil || len(m.raw(m.params)) != len(params) {
				t.Fatalf("the plugin got a broken line: %v", err)
			}
		}
		f.play(`{"id":3,"result":3}` + "\n")
		if got, err := p.Call(soon(t), "m", nil); err != nil || string(got) != "3" {
			t.Errorf("got %s, %v", got, err)
		}
	})
	t.Run("Close does not wait for it", func(t *testing.T) {
		p, _, _ := newPeer(t, PeerOptions{})
		fillUp(t, p)
		if err := p.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	t.Run("the end of its output does not wait for it", func(t *testing.T) {
		p, f, _ := newPeer(t, PeerOptions{})
		fillUp(t, p)
		_ = f.w.Close()
		<-p.Done()
		p.work.Wait() // ends without Close
	})
}

func TestPeerManyGoroutines(t *testing.T) {
	for _, fake := range []string{"serve", "lent"} {
		c := startChild(t, fake)
		p := NewPeer(c.r, c.w, PeerOptions{})
		ctx := soon(t)
		var callers sync.WaitGroup
		for i := range 64 {
			callers.Go(func() {
				for j := range 100 {
					want := fmt.Sprintf(`{"n":%d,"pad":%q}`, 1000*i+j, strings.Repeat("p", i*j%3000))
					if got, err := p.Call(ctx, "echo", []byte(want)); err != nil || string(got) != want {
						t.Errorf("got %s, %v; want %s", excerpt.Head(got, 40), err, excerpt.Head(want, 40))
						return
					}
				}
			})
		}
		callers.Wait()
		_ = p.Close()
	}
}

func TestPeerWithoutTry(t *testing.T) {
	r, w, f := newPair(t)
	p := NewPeer(r, w, PeerOptions{})
	defer p.Close()
	p.out.try = nil // as on a system whose pipes cannot be used without waiting
	f.play(`{"id":1,"result":1}`+"\n", `{"id":2,"result":2}`+"\n")
	for _, want := range []string{"1", "2"} {
		if got, err := p.Call(soon(t), "m", nil); err != nil || string(got) != want {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
	}
}
