package wire

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
)

func TestSerialSize(t *testing.T) {
	const limit = 1000
	reply := func(size int) string { // a reply of exactly that size
		const around = `{"id":1,"result":""}`
		return `{"id":1,"result":"` + strings.Repeat("x", size-len(around)) + `"}`
	}
	t.Run("a reply of exactly the cap passes", func(t *testing.T) {
		for _, end := range []string{"\n", "\r\n"} {
			s, f, _ := newSerial(t, Options{MaxReceive: limit})
			f.play(reply(limit) + end)
			if got, err := s.Call(soon(t), "m", nil); err != nil || len(got) != limit-18 {
				t.Errorf("got %d bytes, %v", len(got), err)
			}
		}
	})
	for _, size := range []int{limit + 1, limit + 2, 100 * limit, 300 * limit} {
		t.Run(fmt.Sprintf("a reply of %d is too large, and the next call works", size), func(t *testing.T) {
			s, f, heard := newSerial(t, Options{MaxReceive: limit})
			f.play(reply(size)+"\n", `{"id":2,"result":2}`+"\n")
			if _, err := s.Call(soon(t), "m", nil); !errors.Is(err, ErrTooLarge) {
				t.Fatalf("err = %v", err)
			}
			mustCall(t, s, "2")
			heard.wait(t, "")
		})
	}
	t.Run("a notification that is too large is not the call's reply", func(t *testing.T) {
		s, f, heard := newSerial(t, Options{MaxReceive: limit})
		f.play(`{"method":"log","params":"` + strings.Repeat("x", limit) + `"}` + "\n" + `{"id":1,"result":1}` + "\n")
		mustCall(t, s, "1")
		heard.wait(t, "too large")
	})
	t.Run("a late reply that is too large is not the call's reply", func(t *testing.T) {
		s, f, heard := newSerial(t, Options{MaxReceive: limit})
		timeOut(t, s)
		f.read()
		f.play(reply(2*limit) + "\n" + `{"id":2,"result":2}` + "\n")
		mustCall(t, s, "2")
		heard.wait(t, "too large")
	})
	t.Run("a request of exactly the cap is sent, a larger one is not", func(t *testing.T) {
		frame := len(appendRequest(nil, "m", []byte(`""`), 1)) - 1
		s, f, _ := newSerial(t, Options{MaxSend: limit})
		text := strings.Repeat("x", limit-frame)
		if _, err := s.Call(soon(t), "m", []byte(`"`+text+`x"`)); !errors.Is(err, ErrTooLarge) {
			t.Errorf("err = %v", err)
		}
		go func() { _, _ = s.Call(soon(t), "m", []byte(`"`+text+`"`)) }()
		if got := f.read(); len(got) != limit || !strings.Contains(got, `"id":1}`) {
			t.Errorf("sent %d bytes: %s", len(got), excerpt.Head(got, 50))
		}
		f.write(`{"id":1,"result":1}` + "\n")
	})
	t.Run("a large result and the next one are right", func(t *testing.T) {
		s, f, _ := newSerial(t, Options{})
		large := `"` + strings.Repeat("y", 3*keepBuffer) + `"`
		f.play(`{"id":1,"result":`+large+`}`+"\n"+"trailing\n", `{"id":2,"result":2}`+"\n")
		got, err := s.Call(soon(t), "m", nil)
		if err != nil || string(got) != large {
			t.Errorf("got %d bytes, %v", len(got), err)
		}
		mustCall(t, s, "2")
		if string(got) != large {
			t.Error("the second call changed the first one's result")
		}
	})
}

func TestSerialPipeFull(t *testing.T) {
	big := []byte(`"` + strings.Repeat("z", 3<<20) + `"`) // more than any pipe holds
	t.Run("a plugin may write much before it has read everything", func(t *testing.T) {
		s, f, _ := newSerial(t, Options{})
		go func() {
			f.write(strings.Repeat(strings.Repeat("noise ", 1000)+"\n", 500))
			f.read()
			f.write(`{"id":1,"result":1}` + "\n")
		}()
		if got, err := s.Call(soon(t), "m", big); err != nil || string(got) != "1" {
			t.Errorf("got %s, %v", got, err)
		}
	})
	t.Run("a half-sent line is finished by the next call", func(t *testing.T) {
		s, f, _ := newSerial(t, Options{})
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			if err := f.in.fill(f.r); err != nil {
				t.Error(err)
			}
			cancel()
		}()
		if _, err := s.Call(ctx, "first", big); !errors.Is(err, context.Canceled) {
			t.Fatalf("err = %v", err)
		}
		lines := make(chan string, 2)
		go func() {
			lines <- f.read()
			lines <- f.read()
			f.write(`{"id":2,"result":2}` + "\n")
		}()
		mustCall(t, s, "2")
		if first := <-lines; first != strings.TrimSpace(string(appendRequest(nil, "first", big, 1))) {
			t.Errorf("the first line came as %d bytes: %s …", len(first), excerpt.Head(first, 50))
		}
		if second := <-lines; second != `{"jsonrpc":"2.0","method":"m","params":{},"id":2}` {
			t.Errorf("the second line came as %s", excerpt.Head(second, 50))
		}
	})
	t.Run("if a plugin never reads, one line waits for it, however often it is called", func(t *testing.T) {
		s, f, _ := newSerial(t, Options{})
		for range 5 {
			if _, err := s.Call(never(t), "m", big); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("err = %v", err)
			}
		}
		if limit := len(big) + 200; len(s.out) > limit {
			t.Errorf("%d bytes wait, want at most %d", len(s.out), limit)
		}
		go func() {
			for {
				line := f.read()
				if m, err := scanMessage([]byte(line), 0); err != nil {
					t.Errorf("the plugin got a broken line: %v", err)
				} else if id, _ := m.callID(); id == 6 {
					f.write(`{"id":6,"result":6}` + "\n")
					return
				}
			}
		}()
		mustCall(t, s, "6")
	})
	t.Run("the call ends if the plugin dies while the host writes to it", func(t *testing.T) {
		s, f, _ := newSerial(t, Options{})
		failed := make(chan error)
		go func() {
			_, err := s.Call(context.Background(), "m", big)
			failed <- err
		}()
		buf := make([]byte, 10)
		if _, err := f.r.Read(buf); err != nil {
			t.Fatal(err)
		}
		_ = f.r.Close() // f.w stays open, so the read alone would wait forever
		if err := <-failed; !errors.Is(err, ErrClosed) {
			t.Errorf("err = %v", err)
		}
	})
}
