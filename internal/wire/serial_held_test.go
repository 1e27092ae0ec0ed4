package wire

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// newEchoing returns a connection to a plugin that had the ids of its replies right so far. The
// next id is 4.
func newEchoing(t *testing.T) (*Serial, *far, *noises) {
	s, f, heard := newSerial(t, Options{})
	var replies []string
	for id := range echoesAfter {
		replies = append(replies, fmt.Sprintf(`{"id":%d,"result":%d}`+"\n", id+1, id+1))
	}
	f.play(replies...)
	for id := range echoesAfter {
		mustCall(t, s, fmt.Sprint(id+1))
	}
	if !s.echoes() {
		t.Fatal("the plugin does not count as one that echoes ids")
	}
	return s, f, heard
}

func TestOddRepliesOfAPluginThatEchoesIDs(t *testing.T) {
	const right = `{"id":4,"result":4}` + "\n"
	tests := []struct{ rule, sent, want, noise string }{
		{"an old reply that comes before the right one is ignored", `{"id":3,"result":3}` + "\n" + right, `4`, "stale reply"},
		{"two old replies before the right one are ignored", `{"id":3,"result":3}` + "\n" + `{"id":2,"result":2}` + "\n" + right, `4`, "stale reply, stale reply"},
		{"an old reply on the line of the right one is ignored", `{"id":3,"result":3}` + right, `4`, "stale reply"},
		{"a reply with an id never issued is ignored if the right one comes", `{"id":77,"result":7}` + "\n" + right, `4`, "stale reply"},
		{"a reply without an id is accepted at once", `{"id":null,"error":{"code":-32700,"message":"what?"}}` + "\n" + right, "error -32700: what?", "wrong id"},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			s, f, heard := newEchoing(t)
			f.play(tt.sent)
			got, err := s.Call(soon(t), "m", nil)
			var rpc *RPCError
			if errors.As(err, &rpc) {
				got, err = fmt.Appendf(nil, "error %d: %s", rpc.Code, rpc.Message), nil
			}
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v; want %s", got, err, tt.want)
			}
			if heard.kinds() != tt.noise {
				t.Errorf("noises: %q, want %q", heard.kinds(), tt.noise)
			}
		})
	}
	t.Run("an old reply that came before the call is ignored", func(t *testing.T) {
		s, f, heard := newEchoing(t)
		f.write(`{"id":3,"result":3}` + "\n")
		f.play(right)
		mustCall(t, s, "4")
		heard.wait(t, "stale reply")
	})
	t.Run("a reply with another id is accepted if no better one comes, and the next such reply at once", func(t *testing.T) {
		s, f, heard := newEchoing(t)
		f.play(`{"id":3,"result":"a"}`+"\n"+`{"id":77,"result":"b"}`+"\n", `{"id":77,"result":"c"}`+"\n")
		if got, err := s.Call(soon(t), "m", nil); err != nil || string(got) != `"b"` {
			t.Fatalf("got %s, %v", got, err)
		}
		heard.wait(t, "stale reply, wrong id")
		if s.echoes() {
			t.Error("the plugin still counts as one that echoes ids")
		}
		mustCall(t, s, `"c"`)
		heard.wait(t, "stale reply, wrong id, wrong id")
	})
	t.Run("a held reply is accepted when the plugin ends", func(t *testing.T) {
		s, f, _ := newEchoing(t)
		go func() {
			f.read()
			f.write(`{"id":77,"result":7}` + "\n")
			_ = f.w.Close()
		}()
		mustCall(t, s, "7")
	})
	t.Run("cancelling ends the wait for a better reply", func(t *testing.T) {
		s, f, heard := newEchoing(t)
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			f.read()
			f.write(`{"id":77,"result":7}` + "\n")
			time.AfterFunc(2*firstWait, cancel)
		}()
		if _, err := s.Call(ctx, "m", nil); !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v", err)
		}
		heard.wait(t, "stale reply")
		f.play(`{"id":5,"result":5}` + "\n")
		mustCall(t, s, "5")
	})
}
