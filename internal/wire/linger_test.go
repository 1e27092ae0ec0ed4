//go:build unix

package wire

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"
)

// newBrisk returns a connection that counts its plugin as brisk.
func newBrisk(t *testing.T) (*Serial, *far) {
	s, f, _ := newSerial(t, Options{})
	s.tryR.brisk = true
	return s, f
}

func TestLinger(t *testing.T) {
	t.Run("a call lingers for a quick plugin, and leaves a slow one to the poller", func(t *testing.T) {
		s, f, _ := newSerial(t, Options{})
		for id := 1; id <= 100; id++ { // on a busy machine a call may begin to wait when the reply is there already
			go func() {
				f.read()
				time.AfterFunc(2*briskWait, func() { f.write(fmt.Sprintf(`{"id":%d,"result":%d}`+"\n", id, id)) })
			}()
			s.tryR.brisk = true
			mustCall(t, s, fmt.Sprint(id))
			if !s.tryR.brisk {
				return
			}
		}
		t.Error("a slow plugin counts as brisk")
	})
	t.Run("a deadline is met by a plugin that was brisk and hangs", func(t *testing.T) {
		s, f := newBrisk(t)
		go f.read()
		if _, err := s.Call(never(t), "m", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("err = %v", err)
		}
		if s.tryR.brisk {
			t.Error("the plugin still counts as brisk")
		}
	})
	t.Run("cancelling ends a call that lingers", func(t *testing.T) {
		s, f := newBrisk(t)
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			f.read()
			cancel()
		}()
		if _, err := s.Call(ctx, "m", nil); !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("closing ends a call that lingers", func(t *testing.T) {
		s, f := newBrisk(t)
		go func() {
			f.read()
			_ = s.Close()
		}()
		if _, err := s.Call(soon(t), "m", nil); !errors.Is(err, ErrClosed) {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("a plugin that dies ends a call that lingers", func(t *testing.T) {
		s, f := newBrisk(t)
		go func() {
			f.read()
			_ = f.w.Close()
		}()
		if _, err := s.Call(soon(t), "m", nil); !errors.Is(err, ErrClosed) {
			t.Errorf("err = %v", err)
		}
	})
}

func TestWhichCallsLinger(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = closeBoth(r, w) }()
	if _, err := w.WriteString("x"); err != nil { // a call that lingers finds this at once
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		linger linger
		others bool
		want   bool
	}{
		"a brisk plugin":        {linger{brisk: true}, false, true},
		"with enough time":      {linger{brisk: true, deadline: time.Now().Add(time.Hour)}, false, true},
		"not for a slow plugin": {linger{}, false, false},
		"not if time is short":  {linger{brisk: true, deadline: time.Now().Add(longestLinger / 2)}, false, false},
		"not if another does":   {linger{brisk: true}, true, false},
		"not if time is up":     {linger{brisk: true, deadline: time.Now().Add(-time.Hour)}, false, false},
	} {
		lingering.Store(c.others)
		if got := c.linger.wait(r.Fd()); got != c.want {
			t.Errorf("%s: lingers = %v", name, got)
		}
		if lingering.Load() != c.others {
			t.Errorf("%s: whether another lingers was changed", name)
		}
		lingering.Store(false)
	}
}
