package engine

import (
	"fmt"
	"slices"
	"testing"
)

// TestContents checks that Contents returns the data of all records, for one answer and for
// several.
func TestContents(t *testing.T) {
	everywhere(t, func(t *testing.T, e *Engine) {
		s, err := e.Stream(t.Context(), StreamConfig{Name: "contents", Together: true})
		if err != nil {
			t.Fatal(err)
		}
		const records = contentsMessages + 300
		topicOf := func(i uint64) string {
			if i%10 == 0 {
				return "other"
			}
			return "mine"
		}
		var batch []Append
		for i := range uint64(records) {
			batch = append(batch, Append{Topic: topicOf(i), Data: fmt.Append(nil, i), ID: fmt.Sprint("r", i)})
			if len(batch) == 200 || i == records-1 {
				if err := s.AppendAll(t.Context(), batch); err != nil {
					t.Fatal(err)
				}
				batch = nil
			}
		}
		for _, topic := range []string{"", "mine", "other", "none"} {
			for _, after := range []uint64{0, 5, 4000, 9999} {
				var want []string
				end := uint64(0)
				for i := after; i < records; i++ { // its number is one higher
					if topic == "" || topic == topicOf(i) {
						want, end = append(want, fmt.Sprint(i)), i+1
					}
				}
				data, last, err := s.Contents(t.Context(), topic, after)
				var got []string
				for _, d := range data {
					got = append(got, string(d))
				}
				if err != nil || last != end || !slices.Equal(got, want) {
					t.Errorf("topic %q after %d: %d records up to %d, wanted %d up to %d; %v", topic, after, len(got), last, len(want), end, err)
				}
			}
		}
	})
}

// TestContentsOfLargeRecords checks that reading continues after an answer that the server cut
// because of its size.
func TestContentsOfLargeRecords(t *testing.T) {
	s := openStream(t, open(t, Options{Dir: t.TempDir()}), "large")
	for i := range 5 {
		data := make([]byte, batchBytes/2-headroom)
		data[0] = byte(i)
		if _, err := s.Append(t.Context(), Append{Topic: "t", Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	data, last, err := s.Contents(t.Context(), "t", 0)
	if err != nil || len(data) != 5 || last != 5 {
		t.Fatalf("%d records up to %d, %v", len(data), last, err)
	}
	for i, d := range data {
		if d[0] != byte(i) {
			t.Errorf("record %d is the %dth", i, d[0])
		}
	}
}
