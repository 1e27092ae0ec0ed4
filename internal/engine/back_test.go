package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest/soak"
)

// TestReadBack: the last records before a number are found for every topic and limit, in dense and
// in rare topics.
func TestReadBack(t *testing.T) {
	everywhere(t, func(t *testing.T, e *Engine) {
		s, err := e.Stream(t.Context(), StreamConfig{Name: "back", Together: true})
		if err != nil {
			t.Fatal(err)
		}
		var all []Record
		var batch []Append
		for i := range 1500 { // "rare" at 0, 500 and 1000; "often" only in the first half
			topic := fmt.Sprintf("other/%d", i%7)
			switch {
			case i%500 == 0:
				topic = "rare/x"
			case i%2 == 0 && i < 1200:
				topic = "often/y"
			}
			batch = append(batch, Append{Topic: topic, Data: fmt.Append(nil, i), ID: fmt.Sprint("r", i)})
			all = append(all, Record{Sequence: uint64(i + 1), Topic: topic})
			if len(batch) == 250 {
				if err := s.AppendAll(t.Context(), batch); err != nil {
					t.Fatal(err)
				}
				batch = nil
			}
		}
		limits := []int{1, 3, 50, 2000}
		for i, topic := range []string{"", "rare/x", "rare/" + Below, "often/y", Any + "/y", "other/" + Any, "none", "none/" + Below} {
			for j, before := range []uint64{0, 1, 2, 502, 900, 1500, 9999} {
				for k, limit := range limits {
					if soak.Pair(i+j, k, len(limits)) {
						wantBack(t, s, all, topic, before, limit)
					}
				}
			}
		}
		if err := s.Purge(t.Context(), Any+"/y"); err != nil {
			t.Fatal(err)
		}
		left := slices.DeleteFunc(all, func(r Record) bool { return r.Topic == "often/y" })
		got, want := readBack(t, s, left, "", 1200, 700)
		for deadline := time.Now().Add(time.Minute); !slices.Equal(got, want) && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			got, want = readBack(t, s, left, "", 1200, 700) // in a cluster, a copy may still contain deleted records for a moment
		}
		if !slices.Equal(got, want) {
			t.Errorf("after a purge: got %.60v of %d, want %.60v of %d", got, len(got), want, len(want))
		}
	})
}

// wantBack compares ReadBack with the known records.
func wantBack(t *testing.T, s Stream, all []Record, topic string, before uint64, limit int) {
	t.Helper()
	if got, want := readBack(t, s, all, topic, before, limit); !slices.Equal(got, want) {
		t.Errorf("topic %q before %d, at most %d: got %.60v of %d, want %.60v of %d", topic, before, limit, got, len(got), want, len(want))
	}
}

// readBack returns the numbers of the records that ReadBack finds, and of those that it should
// find.
func readBack(t *testing.T, s Stream, all []Record, topic string, before uint64, limit int) (got, want []uint64) {
	t.Helper()
	for _, r := range slices.Backward(all) {
		if matches(topic, r.Topic) && (before == 0 || r.Sequence < before) && len(want) < limit {
			want = append(want, r.Sequence)
		}
	}
	records, err := s.ReadBack(t.Context(), topic, before, limit)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		got = append(got, r.Sequence)
		if string(r.Data) != fmt.Sprint(r.Sequence-1) || !matches(topic, r.Topic) {
			t.Errorf("record %d has %q, topic %q", r.Sequence, r.Data, r.Topic)
		}
	}
	return got, want
}

// matches reports whether a pattern of two parts matches a topic of two parts.
func matches(pattern, topic string) bool {
	p, rest, _ := strings.Cut(pattern, "/")
	a, b, _ := strings.Cut(topic, "/")
	return pattern == "" || (p == Any || p == a) && (rest == Any || rest == Below || rest == b)
}

func TestTopicsThatMeanOthers(t *testing.T) {
	s, err := open(t, Options{Dir: t.TempDir()}).Stream(t.Context(), StreamConfig{Name: "patterns", Together: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range []string{Any, "a/" + Any, "a/" + Any + "/b", "a/" + Below} {
		r := Append{Topic: topic, ID: "x"}
		if _, err := s.Append(t.Context(), r); err == nil || !strings.Contains(err.Error(), "is a pattern") {
			t.Errorf("%q: %v", topic, err)
		}
		if err := s.AppendAll(t.Context(), []Append{r}); err == nil || !strings.Contains(err.Error(), "is a pattern") {
			t.Errorf("%q together: %v", topic, err)
		}
	}
	for _, topic := range []string{"*", ">", "a/*/b", "\x00", ""} { // none of these is a pattern
		if _, err := s.Append(t.Context(), Append{Topic: topic}); err != nil {
			t.Errorf("%q: %v", topic, err)
		}
	}
	if records, err := s.Read(t.Context(), "*", 0, 0); err != nil || len(records) != 1 {
		t.Errorf("a topic that is a star: %v, %v", records, err)
	}
}
