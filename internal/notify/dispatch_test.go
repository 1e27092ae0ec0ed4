package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A sender records the messages that it sends.
type sender struct {
	err  error
	hold chan struct{} // each message waits for it; nil: no message waits

	mu  sync.Mutex // protects the fields below
	got []Message
	now int // messages being sent
	top int // the largest value of now
}

// A builtIn is a sender that is a [Notifier].
type builtIn struct{ *sender }

func (builtIn) Describe(Message) Preview    { return Preview{} }
func (builtIn) Reach(context.Context) error { return nil }

func (s *sender) Send(ctx context.Context, m Message) error {
	s.mu.Lock()
	s.now++
	s.top = max(s.top, s.now)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.now--
		s.mu.Unlock()
	}()
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if s.err != nil {
		return s.err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, m)
	return nil
}

// bodies returns the bodies of the sent messages, in order.
func (s *sender) bodies() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, m := range s.got {
		all = append(all, m.Body)
	}
	return all
}

func note(event, body string) Message {
	return Message{Agent: "a", Schedule: "s", Event: event, Body: body}
}

// shut closes a dispatch. No message may be lost.
func shut(t *testing.T, d *Dispatch) {
	t.Helper()
	if err := d.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestDispatch(t *testing.T) {
	for rule, test := range map[string]func(t *testing.T){
		"messages of one line keep their order": func(t *testing.T) {
			d, s := NewDispatch(DispatchOptions{}), &sender{}
			var want []string
			for i := range 100 {
				want = append(want, fmt.Sprint(i))
				d.Send(note(Success, fmt.Sprint(i)), Route{Name: "r", Sender: s})
			}
			shut(t, d)
			if got := s.bodies(); !slices.Equal(got, want) {
				t.Errorf("got %q", got)
			}
		},
		"a slow route delays no other, and only so many messages are sent at once": func(t *testing.T) {
			d := NewDispatch(DispatchOptions{Parallel: 3})
			slow, quick := &sender{hold: make(chan struct{})}, &sender{}
			d.Send(note(Success, "slow"), Route{Name: "slow", Sender: slow})
			for i := range 9 {
				d.Send(Message{Agent: fmt.Sprint(i)}, Route{Name: "slow", Sender: slow})
			}
			synctest.Wait()
			if slow.top != 3 {
				t.Errorf("%d at once", slow.top)
			}
			close(slow.hold)
			d.Send(note(Success, "quick"), Route{Name: "quick", Sender: quick})
			shut(t, d)
			if len(quick.bodies()) != 1 || len(slow.bodies()) != 10 {
				t.Errorf("got %q and %q", quick.bodies(), slow.bodies())
			}
		},
		"messages that do not fit are dropped, counted, logged and observed": func(t *testing.T) {
			var logs bytes.Buffer
			var results []Result
			d := NewDispatch(DispatchOptions{
				Waiting: 2, Logger: slog.New(slog.NewTextHandler(&logs, nil)),
				Observe: func(end Delivery) { results = append(results, end.Result) },
			})
			s := &sender{hold: make(chan struct{})}
			for range 3 {
				d.Send(note(Success, ""), Route{Name: "r", Sender: s})
			}
			if got := d.Counts(); got != (Counts{Waiting: 2, Dropped: 1}) {
				t.Errorf("got %+v", got)
			}
			close(s.hold)
			shut(t, d)
			if got := d.Counts(); got != (Counts{Sent: 2, Dropped: 1}) || !slices.Equal(results, []Result{Dropped, Sent, Sent}) {
				t.Errorf("got %+v, %q", got, results)
			}
			if !strings.Contains(logs.String(), "too many notifications are waiting") {
				t.Errorf("got %s", logs.String())
			}
		},
		"a failure is counted and logged, and not returned": func(t *testing.T) {
			var logs bytes.Buffer
			d := NewDispatch(DispatchOptions{Logger: slog.New(slog.NewTextHandler(&logs, nil))})
			bad, good := &sender{err: errors.New("no route")}, &sender{}
			d.Send(note(Success, ""), Route{Name: "r", Sender: bad, Every: time.Hour})
			d.Send(note(Success, ""), Route{Name: "r", Sender: good, Every: time.Hour})
			shut(t, d)
			if got := d.Counts(); got != (Counts{Sent: 1, Failed: 1}) {
				t.Errorf("got %+v", got)
			}
			for _, want := range []string{`msg="notification not sent"`, "agent=a", "notifier=r", "event=success", `err="no route"`} {
				if !strings.Contains(logs.String(), want) {
					t.Errorf("no %s in %s", want, logs.String())
				}
			}
		},
		"the log says how to examine a built-in notifier": func(t *testing.T) {
			var logs bytes.Buffer
			d := NewDispatch(DispatchOptions{Logger: slog.New(slog.NewTextHandler(&logs, nil))})
			d.Send(note(Success, ""), Route{Name: "r", Sender: builtIn{sender: &sender{err: errors.New("no route")}}})
			shut(t, d)
			if !strings.Contains(logs.String(), "job doctor --reach") {
				t.Errorf("logged %s", logs.String())
			}
		},
		"the fix of a failure is logged apart from it": func(t *testing.T) {
			var logs bytes.Buffer
			d := NewDispatch(DispatchOptions{Logger: slog.New(slog.NewTextHandler(&logs, nil))})
			d.Send(note(Success, ""), Route{Name: "r", Sender: &sender{err: fixable{}}})
			shut(t, d)
			if want := `err="no such plugin" fix="install it"`; !strings.Contains(logs.String(), want) {
				t.Errorf("no %s in %s", want, logs.String())
			}
		},
		"the next message says how many were held back": func(t *testing.T) {
			d, s := NewDispatch(DispatchOptions{}), &sender{}
			r := Route{Name: "r", Sender: s, Every: time.Hour}
			for range 4 {
				d.Send(note(Success, ""), r)
			}
			synctest.Wait()
			since := time.Now()
			time.Sleep(time.Hour) // on the clock of the bubble
			d.Send(note(Success, ""), r)
			shut(t, d)
			if got := d.Counts(); got != (Counts{Sent: 2, Suppressed: 3}) {
				t.Errorf("got %+v", got)
			}
			if last := s.got[1]; last.Suppressed != 3 || !last.Since.Equal(since) {
				t.Errorf("got %+v", last)
			}
		},
		"if the marks cannot be read, the message is sent and the error logged": func(t *testing.T) {
			var logs bytes.Buffer
			d := NewDispatch(DispatchOptions{Limiter: NewLimiter(lost{}, nil), Logger: slog.New(slog.NewTextHandler(&logs, nil))})
			s := &sender{}
			d.Send(note(Success, ""), Route{Name: "r", Sender: s, Every: time.Hour})
			shut(t, d)
			if len(s.got) != 1 || !strings.Contains(logs.String(), "cannot read the rate limit of a notifier; sending the message") {
				t.Errorf("got %+v, %s", s.got, logs.String())
			}
		},
		"a message that takes too long fails": func(t *testing.T) {
			d := NewDispatch(DispatchOptions{Timeout: time.Second})
			d.Send(note(Success, ""), Route{Name: "r", Sender: &sender{hold: make(chan struct{})}})
			shut(t, d)
			if got := d.Counts(); got != (Counts{Failed: 1}) {
				t.Errorf("got %+v", got)
			}
		},
		"closing ends with its context, and says how many messages were lost": func(t *testing.T) {
			d := NewDispatch(DispatchOptions{})
			s := &sender{hold: make(chan struct{})}
			for range 3 {
				d.Send(note(Success, ""), Route{Name: "r", Sender: s})
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := d.Close(ctx); err == nil || !strings.HasPrefix(err.Error(), "3 notifications were not sent") {
				t.Errorf("got %v", err)
			}
			if got := d.Counts(); got != (Counts{Failed: 1, Dropped: 2}) {
				t.Errorf("got %+v", got)
			}
		},
		"a closed dispatch accepts nothing": func(t *testing.T) {
			d, s := NewDispatch(DispatchOptions{}), &sender{}
			shut(t, d)
			d.Send(note(Success, ""), Route{Name: "r", Sender: s})
			shut(t, d)
			if got := d.Counts(); got != (Counts{Dropped: 1}) || len(s.got) != 0 {
				t.Errorf("got %+v", got)
			}
		},
	} {
		t.Run(rule, func(t *testing.T) { synctest.Test(t, test) })
	}
}

// fixable is an error that knows its fix.
type fixable struct{}

func (fixable) Error() string { return "no such plugin; install it" }
func (fixable) Fix() string   { return "install it" }
