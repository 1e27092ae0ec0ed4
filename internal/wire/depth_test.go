package wire

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// nested returns a value of that many levels.
func nested(levels int) string {
	return strings.Repeat("[", levels) + strings.Repeat("]", levels)
}

// deeper are numbers of levels over the limit: one more, almost as many as encoding/json reads, and
// far more than it reads.
var deeper = []int{rawjson.MaxForeign + 1, 9_997, 300_000}

func isTooDeep(err error) bool {
	var malformed *MalformedError
	return errors.As(err, &malformed) && strings.Contains(malformed.Why, "1000 levels") && len(err.Error()) < 1000
}

func TestAReplyThatIsTooDeepFailsItsCall(t *testing.T) {
	const most = rawjson.MaxForeign
	t.Run("Serial", func(t *testing.T) {
		s, f, heard := newSerial(t, Options{})
		f.play(`{"id":1,"result":`+nested(most)+"}\n",
			`{"id":2,"result":`+nested(deeper[0])+"}\n",
			`{"result":`+nested(deeper[1])+`,"id":3}`+"\n",
			`{"result":`+nested(deeper[2])+`,"id":4}`+"\n",
			`{"id":5,"error":{"code":1,"message":"m","data":`+nested(most)+"}}\n",
			`{"id":6,"result":6}`+"\n")
		if got, err := s.Call(soon(t), "m", nil); err != nil || string(got) != nested(most) {
			t.Errorf("at the limit: %v", err)
		}
		for range 4 {
			if _, err := s.Call(soon(t), "m", nil); !isTooDeep(err) {
				t.Errorf("err = %v", err)
			}
		}
		if got, err := s.Call(soon(t), "m", nil); err != nil || string(got) != "6" {
			t.Errorf("the call after it: %s, %v", got, err)
		}
		heard.wait(t, "")
	})
	t.Run("Peer", func(t *testing.T) {
		p, f, heard := newPeer(t, PeerOptions{})
		f.play(`{"id":1,"result":`+nested(most)+"}\n",
			`{"id":2,"result":`+nested(deeper[0])+"}\n",
			`{"result":`+nested(deeper[1])+`,"id":3}`+"\n",
			`{"result":`+nested(deeper[2])+`,"id":4}`+"\n",
			`{"id":5,"result":5}`+"\n")
		if got, err := p.Call(soon(t), "m", nil); err != nil || string(got) != nested(most) {
			t.Errorf("at the limit: %v", err)
		}
		for range 3 {
			if _, err := p.Call(soon(t), "m", nil); !isTooDeep(err) {
				t.Errorf("err = %v", err)
			}
		}
		if got, err := p.Call(soon(t), "m", nil); err != nil || string(got) != "5" {
			t.Errorf("the call after it: %s, %v", got, err)
		}
		heard.wait(t, "")
	})
}

func TestMessagesThatAreTooDeepAreNotPassedOn(t *testing.T) {
	notified := make(chan string, 10)
	_, f, heard := newPeer(t, PeerOptions{
		OnNotify: func(method string, params json.RawMessage) { notified <- method },
		OnRequest: func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`"` + method + `"`), nil
		},
	})
	for _, levels := range deeper {
		f.write(`{"method":"deep","params":` + nested(levels) + "}\n")
	}
	f.write(`{"method":"flat","params":` + nested(rawjson.MaxForeign) + "}\n")
	if got := <-notified; got != "flat" {
		t.Errorf("handed out %q", got)
	}
	heard.wait(t, "garbage, garbage, garbage")
	f.write(`{"method":"put","params":` + nested(deeper[0]) + `,"id":"x"}` + "\n")
	if got := f.read(); !strings.Contains(got, `"id":"x","error":{"code":-32600`) || !strings.Contains(got, "1000 levels") {
		t.Errorf("answered %s", got)
	}
	f.write(`{"method":"put","params":` + nested(rawjson.MaxForeign) + `,"id":"y"}` + "\n")
	if got := f.read(); !strings.Contains(got, `"result":"put"`) {
		t.Errorf("answered %s", got)
	}
}

// TestAPluginReadsDeepMessagesOfTheHost: the host's payloads may be deeper than those of plugins,
// because it wraps them.
func TestAPluginReadsDeepMessagesOfTheHost(t *testing.T) {
	c := startChild(t, "serve")
	p := NewPeer(c.r, c.w, PeerOptions{})
	defer p.Close()
	_, err := p.Call(soon(t), "echo", []byte(nested(2*rawjson.MaxForeign)))
	if !isTooDeep(err) { // the plugin sent it back
		t.Errorf("err = %v", err)
	}
}
