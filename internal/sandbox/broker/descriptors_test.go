package broker

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestConnectionsTakeDescriptors: connections count against the descriptors that plugins may use.
// If none is left, a connection is reset, and the log says why.
func TestConnectionsTakeDescriptors(t *testing.T) {
	var log lockedLog
	var used atomic.Int64
	o := Options{Grants: []Grant{{Addr: ip("192.0.2.7")}}, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Take: func(n int) error {
			if used.Add(int64(n)) > 2*perConn {
				used.Add(-int64(n))
				return errors.New("too many file descriptors")
			}
			return nil
		},
		Give: func(n int) { used.Add(-int64(n)) }}
	k := newKit(t, o, "192.0.2.7:80", serve(t, echo))
	one, two := k.connect(), k.connect()
	k.talk(one)
	k.talk(two)
	k.wantRefused()
	if !strings.Contains(log.String(), "too many file descriptors") {
		t.Errorf("log: %s", log.String())
	}
	_ = one.Close()
	for deadline := time.Now().Add(patience); used.Load() != perConn; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d descriptors are in use", used.Load())
		}
	}
	k.talk(k.connect())
}

// lockedLog is a log that can be written and read concurrently.
type lockedLog struct {
	mu   sync.Mutex // protects text
	text bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
