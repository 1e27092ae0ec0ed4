package wire

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"
)

// TestWindow: exactly the limit passes in any second, wherever the second begins:
// docs/protocols/kaged.md, row K79.
func TestWindow(t *testing.T) {
	start := time.Unix(1000, 0)
	w := newWindow(100)
	takes := func(now time.Time, tries int) (n int) {
		for range tries {
			if w.take(now) {
				n++
			}
		}
		return n
	}
	for _, step := range []struct {
		rule string
		at   time.Duration
		want int
	}{
		{"the limit of a second passes at once", 0, 100},
		{"nothing more at the same moment", 0, 0},
		{"nothing more within the second", 999 * time.Millisecond, 0},
		{"as many again a second later", time.Second, 100},
		{"after a silence no more than the limit passes", time.Hour, 100},
		{"a clock that goes back lets nothing pass", 0, 0},
	} {
		if got := takes(start.Add(step.at), 1000); got != step.want {
			t.Errorf("%s: %d, want %d", step.rule, got, step.want)
		}
	}
	w = newWindow(100)
	for i := range 1000 {
		if !w.take(start.Add(time.Duration(i) * 10 * time.Millisecond)) {
			t.Fatalf("at a steady hundred a second, number %d is dropped", i)
		}
	}
	if unlimited := newWindow(0); !unlimited.take(start) {
		t.Error("rate 0 limits")
	}
}

// note returns a notification as the reading goroutine sees it.
func note(t *testing.T) *message {
	m, err := scanMessage([]byte(`{"method":"n","params":{}}`), 0)
	if err != nil {
		t.Fatal(err)
	}
	return &m
}

func TestDroppedIsReportedOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []int
		var when []time.Duration
		began := time.Now()
		n := newNotifier(PeerOptions{
			NotifyRate: 1,
			OnNotify:   func(string, json.RawMessage) {},
			OnDropped: func(n int) {
				told = append(told, n)
				when = append(when, time.Since(began))
			},
		})
		go n.run()
		in := NewReader(nil, 1)
		for range 35 { // for three and a half seconds; one per second passes
			n.add(note(t), in)
			time.Sleep(100 * time.Millisecond)
		}
		n.end()
		synctest.Wait()
		total := 0
		for i, some := range told {
			total += some
			if i > 0 && i < len(told)-1 && when[i]-when[i-1] < time.Second {
				t.Errorf("OnDropped was called again after %v", when[i]-when[i-1])
			}
		}
		if total != 35-4 || len(told) > 5 {
			t.Errorf("OnDropped got %v at %v, want 31 in all", told, when)
		}
	})
}

func TestASlowOnNotifyCostsABoundedQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		handed, dropped := 0, 0
		n := newNotifier(PeerOptions{
			OnNotify:  func(string, json.RawMessage) { <-release; handed++ },
			OnDropped: func(n int) { dropped += n },
		})
		go n.run()
		in := NewReader(nil, 1)
		for range 10 * maxQueued {
			n.add(note(t), in)
		}
		close(release)
		n.end()
		synctest.Wait()
		if handed > maxQueued+1 || handed+dropped != 10*maxQueued {
			t.Errorf("%d handed out, %d dropped", handed, dropped)
		}
	})
}

// TestSpacedNotificationsGiveTheirRoomBack: a notification with white space is counted by its
// compact size when it is queued and when it is passed on.
func TestSpacedNotificationsGiveTheirRoomBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handed, dropped := 0, 0
		n := newNotifier(PeerOptions{
			Options:   Options{MaxReceive: 100},
			OnNotify:  func(string, json.RawMessage) { handed++ },
			OnDropped: func(n int) { dropped += n },
		})
		go n.run()
		in := NewReader(nil, 1)
		m, err := scanMessage([]byte("{\"method\":\"n\",\"params\":{ \"a\" : [ 1 , 2 ] ,\t\"b\": \"\xff\" }}"), 0)
		if err != nil {
			t.Fatal(err)
		}
		const many = 1000
		for range many {
			n.add(&m, in)
			synctest.Wait() // until it is passed on
		}
		if waiting := n.bytes.Load(); waiting != 0 {
			t.Errorf("%d bytes are counted as waiting, but nothing waits", waiting)
		}
		n.end()
		synctest.Wait()
		if handed != many || dropped != 0 {
			t.Errorf("%d handed out, %d dropped", handed, dropped)
		}
	})
}

func TestLargeNotificationsCostBoundedMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		n := newNotifier(PeerOptions{
			Options:  Options{MaxReceive: 10},
			OnNotify: func(string, json.RawMessage) { <-release },
		})
		go n.run()
		in := NewReader(nil, 1)
		for range 100 {
			n.add(note(t), in)
		}
		if waiting := n.bytes.Load(); waiting > 2*10 {
			t.Errorf("%d bytes wait", waiting)
		}
		close(release)
		n.end()
	})
}
