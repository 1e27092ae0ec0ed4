package sessionstore

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
	"github.com/patchbay-dev/patchbay/internal/session"
)

func TestDecode(t *testing.T) {
	for rule, text := range map[string]string{
		"an entry is JSON":                     `{"turn":`,
		"an entry is an object":                `[]`,
		"an entry has a part":                  `{"turn":"turn_1"}`,
		"an entry has only one part":           `{"status":"done","message":{"role":"user","content":""}}`,
		"a status is one of ours":              `{"status":"nonsense"}`,
		"a message has a known role":           `{"message":{"role":"nobody","content":""}}`,
		"a message of a compaction has a role": `{"compaction":{"messages":[{"role":"user"},{"role":""}]}}`,
	} {
		t.Run(rule, func(t *testing.T) {
			_, err := decode(engine.Record{Sequence: 7, Data: []byte(text)})
			if err == nil || !strings.Contains(err.Error(), "entry 7") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestUnanswered(t *testing.T) {
	for _, c := range []struct {
		rule     string
		messages []model.Message
		want     string // ids
	}{
		{"an empty conversation needs none", nil, ""},
		{"calls with results need none", []model.Message{calling("1", "2"), result("2"), result("1")}, ""},
		{"calls without results need some, in their order", []model.Message{calling("1", "2", "3"), result("2")}, "1 3"},
		{"two calls by one id need two results", []model.Message{calling("1", "1"), result("1")}, "1"},
		{"a message of a plugin does not hide a call", []model.Message{calling("1"), say(model.System, "note")}, "1"},
		{"only the last message with calls counts", []model.Message{calling("1"), result("1"), calling("1")}, "1"},
		{"calls before a later message cannot be repaired", []model.Message{calling("1"), user("never mind")}, ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var ids []string
			for _, call := range unanswered(c.messages) {
				ids = append(ids, call.ID)
			}
			if got := strings.Join(ids, " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// FuzzTranscript decodes lines as a transcript. A line that is accepted must stay the same when it
// is encoded and decoded again, and after the repairs no further repair must be needed.
func FuzzTranscript(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{
		`{"turn":"t","time":"2026-01-02T03:04:05Z","status":"began"}`,
		`{"turn":"t","message":{"role":"user","content":"hello"}}`,
		`{"status":"began"}` + "\n" + `{"message":{"role":"assistant","tool_calls":[{"id":"1","name":"shell","arguments":{}}]}}`,
		`{"message":{"role":"user"}}` + "\n" + `{"compaction":{"strategy":"drop","messages":[{"role":"system","content":"x"}],"before":1}}`,
		`{"message":{"role":"assistant","tool_calls":[{"id":""},{"id":""}]}}` + "\n" + `{"message":{"role":"tool"}}`,
		`{"compaction":{"messages":null}}`,
		`{"status":"done","status":"began","message":null}`,
		`{"status":"began","claim":{"token":"x"},"base":7,"earlier":-1,"open":18446744073709551615}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		now := &state{}
		for i, part := range strings.Split(text, "\n") {
			k, err := decodeKept(engine.Record{Sequence: uint64(i + 1), Data: []byte(part)})
			if err != nil {
				continue
			}
			k.Entry = again(t, k.Entry)
			now.add(k)
		}
		for _, e := range now.repairs() {
			now.add(&kept{Entry: e})
		}
		if left := now.repairs(); len(left) != 0 {
			t.Errorf("after the repairs there is more to repair: %+v", left)
		}
	})
}

// again encodes an entry and decodes it.
func again(t *testing.T, e session.Entry) session.Entry {
	t.Helper()
	data, err := encode(e)
	if err != nil {
		if y := e.Time.Year(); y < 0 || y > 9999 { // JSON has no such time
			return e
		}
		t.Fatalf("%+v cannot be written: %v", e, err)
	}
	once, err := decode(engine.Record{Sequence: e.Sequence, Data: data})
	if err != nil {
		t.Fatalf("%s cannot be read: %v", data, err)
	}
	data2, err := encode(once)
	if err != nil || string(data2) != string(data) {
		t.Fatalf("%s became %s, %v", data, data2, err)
	}
	return once
}

func TestIDs(t *testing.T) {
	t.Run("ids sort by time", func(t *testing.T) {
		now := time.Now()
		last := ""
		for i := range 1000 {
			id := session.NewID(session.Prefix, now.Add(time.Duration(i)*time.Millisecond))
			if id <= last {
				t.Fatalf("%s is not behind %s", id, last)
			}
			last = id
		}
	})
	t.Run("ids are a prefix and 26 lower case letters and digits", func(t *testing.T) {
		id := session.NewTurnID()
		digits, ok := strings.CutPrefix(id, "turn_")
		if !ok || len(digits) != 26 || strings.Trim(digits, session.Alphabet) != "" {
			t.Errorf("got %s", id)
		}
	})
	t.Run("no two ids of one moment are the same", func(t *testing.T) {
		now := time.Now()
		seen := make(map[string]bool)
		for range 10000 {
			seen[session.NewID("", now)] = true
		}
		if len(seen) != 10000 {
			t.Errorf("%d of 10000", len(seen))
		}
	})
}

func TestTitleOf(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		" \n\t\n":                   "",
		"one\ntwo":                  "one",
		"\n\n  spaced   out \r\n":   "spaced out",
		"\x1b[31mred\x07":           "[31mred",
		"bad \xff byte":             "bad \uFFFD byte",
		strings.Repeat("ä", 80):     strings.Repeat("ä", 80),
		strings.Repeat("ä", 81):     strings.Repeat("ä", 79) + "…",
		strings.Repeat("x", 10<<20): strings.Repeat("x", 79) + "…",
	} {
		if got := titleOf(text); got != want {
			t.Errorf("%.40q: got %q, want %q", text, got, want)
		}
	}
}

func TestClone(t *testing.T) {
	said := []model.Message{user("a"), calling("1")}
	if got := clone(said); !reflect.DeepEqual(got, said) {
		t.Errorf("got %+v", got)
	}
}

// encode encodes an entry without a place in a conversation.
func encode(e session.Entry) ([]byte, error) { return (&state{}).encode(e, nil) }
