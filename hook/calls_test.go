package hook

import (
	"context"
	"encoding/json"
	"testing"
	"time"
)

func TestCallsInProgressAreListed(t *testing.T) {
	var calls Calls
	var during PendingCall
	var b Bus
	err := b.Set([]Hook{{Plugin: "guard", Name: "h", Point: ToolBefore, Call: func(context.Context, *Event) (Reply, error) {
		during, _ = calls.Oldest()
		return Reply{}, nil
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Fire(WithCalls(t.Context(), &calls), ToolBefore, json.RawMessage(`{}`)); err != nil {
		t.Fatal(err)
	}
	if during.Plugin != "guard" || during.Point != ToolBefore || during.Began.IsZero() {
		t.Errorf("during the call the list has %+v", during)
	}
	if after, ok := calls.Oldest(); ok {
		t.Errorf("after the call the list has %+v", after)
	}
}

func TestTheOldestCallIsReported(t *testing.T) {
	var calls Calls
	first := calls.add(&Hook{Plugin: "first"}, TurnDone, time.Unix(1, 0))
	second := calls.add(&Hook{Plugin: "second"}, TurnDone, time.Unix(2, 0))
	if oldest, ok := calls.Oldest(); !ok || oldest.Plugin != "first" {
		t.Errorf("the oldest is %+v", oldest)
	}
	calls.remove(first)
	if oldest, ok := calls.Oldest(); !ok || oldest.Plugin != "second" {
		t.Errorf("after the first has ended the oldest is %+v", oldest)
	}
	calls.remove(second)
	if oldest, ok := calls.Oldest(); ok {
		t.Errorf("at the end the list has %+v", oldest)
	}
}
