package drive

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestEachEvent(t *testing.T) {
	const stream = "retry: 2000\n\nid: 58\nevent: point\ndata: {\"a\":1}\n\n: comment\n\nevent: gap\ndata: {}\n\nid: 59\nevent: cut"
	var got []Event
	err := eachEvent(strings.NewReader(stream), func(e Event) error {
		got = append(got, e)
		return nil
	})
	want := []Event{{58, "point", `{"a":1}`}, {0, "gap", "{}"}}
	if !slices.Equal(got, want) || !errors.Is(err, io.EOF) {
		t.Errorf("events are %v, wanted %v; error %v", got, want, err)
	}
}

func TestEachEventRefusesAnInvalidID(t *testing.T) {
	if err := eachEvent(strings.NewReader("id: x\nevent: a\n\n"), func(Event) error { return nil }); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("error is %v", err)
	}
}
