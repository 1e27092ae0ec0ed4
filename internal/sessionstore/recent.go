package sessionstore

import (
	"context"
	"slices"
)

const (
	// maxRecent limits how many places are kept in memory.
	maxRecent = 1024
	// maxNews is how many new places are added to those in memory. If there are more, the newest
	// places are read again.
	maxNews = 128
)

// A window holds the newest places that were read before. Places never change, so only the places
// that were written since then must be read. A window never changes either; a new one replaces it.
//
// It may contain places that were removed since. Their sessions no longer exist, which is noticed
// when the session is read.
type window struct {
	places []place // sorted by sequence number: every place with a number above after, up to last
	after  uint64  // 0: there are no older places
	last   uint64
}

// back returns the places before a sequence number (0: the last ones), the last first. ok is false
// if the window does not reach that far back.
func (w *window) back(before uint64, limit int) (places []place, ok bool) {
	if w == nil {
		return nil, false
	}
	end := len(w.places)
	if before > 0 {
		end, _ = slices.BinarySearchFunc(w.places, before, func(p place, sequence uint64) int {
			if p.sequence < sequence {
				return -1
			}
			return 1
		})
	}
	if end < limit && w.after > 0 {
		return nil, false
	}
	places = slices.Clone(w.places[max(end-limit, 0):end])
	slices.Reverse(places)
	return places, true
}

// with returns the window with the new places up to last.
func (w *window) with(news []place, last uint64) *window {
	next := &window{places: slices.Concat(w.places, news), after: w.after, last: last}
	if more := len(next.places) - maxRecent; more > 0 {
		next.after = next.places[more-1].sequence
		next.places = next.places[more:]
	}
	return next
}

// current returns the window up to the end of the order, or nil if the order must be read.
func (o *order) current(ctx context.Context, last uint64) (*window, error) {
	w := o.recent.Load()
	if w == nil || w.last == last {
		return w, nil
	}
	if w.last > last { // not the stream that was read before
		return nil, nil
	}
	records, err := o.stream.Read(ctx, "", w.last, maxNews)
	if err != nil || len(records) == maxNews {
		return nil, err
	}
	news, err := readPlaces(records)
	if err != nil {
		return nil, err
	}
	if n := len(news); n > 0 {
		last = max(last, news[n-1].sequence)
	}
	w = w.with(news, last)
	o.recent.Store(w)
	return w, nil
}

// keep makes a window of the newest places, which are listed with the newest first. The number last
// was the end of the order before they were read.
func (o *order) keep(newest []place, last uint64, all bool) {
	w := &window{last: last}
	if len(newest) > 0 {
		w.last = max(last, newest[0].sequence)
	}
	newest = newest[:min(len(newest), maxRecent)]
	w.places = slices.Clone(newest)
	slices.Reverse(w.places)
	if n := len(newest); n > 0 && !(all && n < maxRecent) {
		w.after = newest[n-1].sequence - 1
	}
	o.recent.Store(w)
}
