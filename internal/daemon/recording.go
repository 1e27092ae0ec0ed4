package daemon

import (
	"context"
	"io"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/recording"
)

// recordedAtOnce is how many traces are in memory at a time while they are saved. Each may have
// maxRecord bytes.
const recordedAtOnce = 32

// SaveTraces adds the traces that match a query to a recording, the oldest first.
func (r *Records) SaveTraces(ctx context.Context, to *recording.Recorder, q TraceQuery, at *recording.Place) error {
	dirs := make(map[string]string)
	after := uint64(0)
	for {
		events, err := r.Journal.Read(ctx, after, q.filter(), recordedAtOnce)
		if err != nil {
			return err
		}
		for i := range events {
			after = events[i].Sequence
			t, err := readTrace(&events[i])
			if err != nil || events[i].Time.Before(q.Since) || !q.wants(&t) { // skip traces that cannot be read, as lists do
				continue
			}
			to.Keep(r.keptEvent(ctx, &t, dirs), at)
		}
		if err := to.Err(); err != nil || len(events) < recordedAtOnce {
			return err
		}
	}
}

// keptEvent returns a trace in the form of a recording. All events of a turn have its id as their
// request.
func (r *Records) keptEvent(ctx context.Context, t *KeptTrace, dirs map[string]string) *recording.Kept {
	dir, known := dirs[t.Session]
	if !known {
		if s, err := r.Sessions.Get(ctx, t.Session); err == nil { // without the session, its directory is unknown, and replays compare paths in it as they are
			dir = s.WorkingDir
		}
		dirs[t.Session] = dir
	}
	k := &recording.Kept{Session: t.Session, Request: t.Turn, Dir: dir, Began: t.Began(), Took: t.Took(), Outcome: t.Outcome.Outcome}
	if t.shortened() {
		k.Lacks = "it was too long for the journal to store it whole"
	}
	return k
}

// shortened reports whether the journal has only a part of the trace.
func (t *KeptTrace) shortened() bool {
	if string(t.Outcome.Payload) != payloadTooLong {
		return false
	}
	for i := range t.Outcome.Steps {
		if s := &t.Outcome.Steps[i]; s.Sent != nil || s.Received != nil {
			return false // only the payload was removed
		}
	}
	return true
}

// Recording writes the events of a turn as a recording.
func (i inspect) Recording(ctx context.Context, sessionID, turn string, to io.Writer) error {
	saver := recording.NewSaver(to, recording.Options{Command: []string{"trace", "export", "--session", sessionID, "--turn", turn}})
	records := &Records{i.Sessions, i.Journal}
	err := records.SaveTraces(ctx, saver, TraceQuery{Session: sessionID, Turn: turn}, &recording.Place{Host: i.Host, Plugins: presentPlugins(i.Host)})
	if err != nil {
		return err
	}
	s, err := saver.Close(false)
	if err == nil && s.Bytes == 0 {
		return httpapi.ErrNoTurn
	}
	return err
}

// presentPlugins lists the plugins that are ready now. Their state at the time of an event is not
// known.
func presentPlugins(h *pluginhost.Host) []recording.Plugin {
	var all []recording.Plugin
	for _, p := range h.Plugins() {
		if p.State == "ready" {
			all = append(all, recording.Plugin{Name: p.Name, Dialect: p.Dialect, Path: p.Path})
		}
	}
	return all
}
