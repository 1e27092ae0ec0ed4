package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestPeerRequests(t *testing.T) {
	answer := func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		switch method {
		case "echo":
			return params, nil
		case "rpc":
			return nil, &RPCError{Code: 5, Message: "five"}
		case "large":
			return json.RawMessage(`"` + strings.Repeat("x", 5000) + `"`), nil
		case "wait":
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return nil, errors.New("broken")
	}
	tests := []struct{ rule, request, want string }{
		{"a request is answered", `{"id":"a","method":"echo","params":{"k": 1}}`, `{"jsonrpc":"2.0","id":"a","result":{"k":1}}`},
		{"an RPCError goes out as such", `{"id":1,"method":"rpc"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":5,"message":"five"}}`},
		{"another error is -32603", `{"id":1,"method":"x"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"broken"}}`},
		{"an answer that is too large is an error", `{"id":1,"method":"large"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"reply is over the size limit"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			_, f, _ := newPeer(t, PeerOptions{Options: Options{MaxSend: 4000}, OnRequest: answer})
			f.write(tt.request + "\n")
			if got := f.read(); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	t.Run("without OnRequest every method is unknown", func(t *testing.T) {
		_, f, _ := newPeer(t, PeerOptions{})
		f.write(`{"id":1,"method":"echo"}` + "\n")
		if got := f.read(); !strings.Contains(got, "-32601") {
			t.Errorf("got %s", got)
		}
	})
	t.Run("too many requests at once are refused, and Close ends the others", func(t *testing.T) {
		p, f, _ := newPeer(t, PeerOptions{OnRequest: answer})
		for id := range maxRequests + 1 {
			f.write(fmt.Sprintf(`{"id":%d,"method":"wait"}`+"\n", id))
		}
		if got, want := f.read(), fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32000,"message":"too many requests in flight"}}`, maxRequests); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if err := p.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	t.Run("an answer after the plugin has closed its pipe is a noise", func(t *testing.T) {
		asked := make(chan struct{})
		_, f, heard := newPeer(t, PeerOptions{OnRequest: func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
			close(asked)
			<-ctx.Done()
			return nil, nil
		}})
		f.write(`{"id":1,"method":"wait"}` + "\n")
		<-asked
		_ = f.w.Close()
		heard.wait(t, "unsent answer")
	})
}

func TestPeerNotifications(t *testing.T) {
	t.Run("notifications come in order, and each owns its params", func(t *testing.T) {
		var got []string
		all := make(chan struct{})
		_, f, _ := newPeer(t, PeerOptions{OnNotify: func(method string, params json.RawMessage) {
			if got = append(got, method+string(params)); len(got) == 50 {
				close(all)
			}
		}})
		var want []string
		for i := range 50 {
			f.write(fmt.Sprintf(`{"method":"n","params":[%d]}`+"\n", i))
			want = append(want, fmt.Sprintf("n[%d]", i))
		}
		<-all
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("got %v", got)
		}
	})
	t.Run("the last notifications before the end are handed out", func(t *testing.T) {
		var got atomic.Int32
		p, f, _ := newPeer(t, PeerOptions{OnNotify: func(string, json.RawMessage) { got.Add(1) }})
		f.write(strings.Repeat(`{"method":"n"}`+"\n", 20))
		_ = f.w.Close()
		<-p.Done()
		p.work.Wait()
		if got.Load() != 20 {
			t.Errorf("%d of 20 were handed out", got.Load())
		}
	})
	t.Run("without OnNotify, notifications are noise", func(t *testing.T) {
		_, f, heard := newPeer(t, PeerOptions{})
		f.write(`{"method":"n"}` + "\n")
		heard.wait(t, "unasked")
	})
	t.Run("no notification is handed out after Close", func(t *testing.T) {
		var closed atomic.Bool
		first := make(chan struct{})
		var once sync.Once
		p, f, _ := newPeer(t, PeerOptions{OnNotify: func(string, json.RawMessage) {
			if closed.Load() {
				t.Error("handed out after Close")
			}
			once.Do(func() { close(first) })
		}})
		f.write(strings.Repeat(`{"method":"n"}`+"\n", 200))
		<-first
		_ = p.Close()
		closed.Store(true)
	})
	t.Run("a flood delays no call, and the surplus is reported", func(t *testing.T) {
		const rate, flood = 100, 100_000
		var handed, dropped atomic.Int32
		p, f, _ := newPeer(t, PeerOptions{
			OnNotify:   func(string, json.RawMessage) { handed.Add(1) },
			NotifyRate: rate,
			OnDropped:  func(n int) { dropped.Add(int32(n)) },
		})
		began := time.Now()
		var plugin sync.WaitGroup
		plugin.Go(func() {
			line := `{"method":"spam","params":{}}` + "\n"
			for id := 1; id <= 10; id++ {
				f.write(strings.Repeat(line, flood/10))
				f.read()
				f.write(fmt.Sprintf(`{"id":%d,"result":%d}`+"\n", id, id))
			}
			_ = f.w.Close()
		})
		for id := 1; id <= 10; id++ {
			if got, err := p.Call(soon(t), "m", nil); err != nil || string(got) != fmt.Sprint(id) {
				t.Errorf("call %d got %s, %v", id, got, err)
			}
		}
		plugin.Wait()
		<-p.Done()
		p.work.Wait()
		if most := rate * (2 + int32(time.Since(began)/time.Second)); handed.Load() > most || handed.Load() < 1 {
			t.Errorf("%d were handed out, want at most %d", handed.Load(), most)
		}
		if handed.Load()+dropped.Load() != flood {
			t.Errorf("%d handed out and %d reported as dropped, of %d", handed.Load(), dropped.Load(), flood)
		}
	})
}
