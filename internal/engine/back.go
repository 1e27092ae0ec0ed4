package engine

import (
	"context"
	"errors"
	"slices"
)

// ReadBack implements [Stream]. The server reads only forward, but it knows how many messages match
// a filter without reading them. If there are at most twice as many as wanted, ReadBack reads all.
// Otherwise it assumes that they are evenly spread. It reads a range that should contain twice as
// many as wanted, then the range before it, which is twice as long, and so on. So the number of
// records of other topics does not matter.
func (s *stream) ReadBack(ctx context.Context, topic string, before uint64, limit int) ([]Record, error) {
	filter, err := s.filter(topic)
	if err != nil {
		return nil, err
	}
	state, err := s.state(ctx)
	if err != nil {
		return nil, err
	}
	end := state.LastSeq // the last wanted record
	if before > 0 {
		end = min(end, before-1)
	}
	first := max(state.FirstSeq, 1)
	if limit <= 0 || end < first {
		return nil, nil
	}
	total := state.Msgs
	if filter != s.root+">" {
		if total, err = s.total(ctx, filter); err != nil {
			return nil, err
		}
	}
	b := back{stream: s, filter: filter, first: first, end: end, limit: limit}
	b.width = end - first + 1
	if total > uint64(2*limit) {
		b.width = stretchFor(limit, state.LastSeq-first+1, total)
	}
	return b.read(ctx)
}

// stretchFor returns how many sequence numbers to read for limit records of a filter. all is how
// many numbers the stream has, and total is how many of them match the filter. If nearly all match,
// a few more numbers than limit are enough. Otherwise it returns twice the average, because records
// of a topic come in bursts.
func stretchFor(limit int, all, total uint64) uint64 {
	if all-min(total, all) <= all/8 {
		return uint64(limit + limit/4)
	}
	return all / total * uint64(2*limit)
}

// total returns how many messages match a filter. In a cluster it is an estimate, because the copy
// that answers may be behind.
func (b *backing) total(ctx context.Context, filter string) (uint64, error) {
	r := &batch{backing: b, filter: filter, most: 1, f: func(stored) bool { return true }}
	err := b.link.gather(ctx, r.run)
	if errors.Is(err, ErrNotFound) || r.after == 0 {
		return 0, err
	}
	return r.pending + 1, err
}

// A back reads the records of a filter backwards.
type back struct {
	*stream
	filter string
	first  uint64 // the first record of the stream
	end    uint64 // the last record that is still wanted
	width  uint64 // of the next range, in sequence numbers
	limit  int
}

func (b *back) read(ctx context.Context) ([]Record, error) {
	var newest []Record
	for b.end >= b.first && len(newest) < b.limit {
		width := min(max(b.width, 1), b.end-b.first+1)
		records, err := b.stretch(ctx, b.end-width, b.limit-len(newest))
		if err != nil {
			return nil, err
		}
		slices.Reverse(records)
		newest = append(newest, records...)
		b.end -= width
		b.width = 2 * width
	}
	return newest, nil
}

// stretch returns the last records after a sequence number and up to b.end, at most want.
func (b *back) stretch(ctx context.Context, after uint64, want int) ([]Record, error) {
	var records []Record
	var bad error
	_, err := b.scanSome(ctx, b.filter, after, 2*want+1, func(m stored) bool {
		if m.sequence > b.end {
			return false
		}
		var r Record
		if r, bad = b.record(m); bad != nil {
			return false
		}
		if len(records) == 2*want {
			records = append(records[:0], records[want:]...) // drop the older ones
		}
		records = append(records, r)
		return m.sequence < b.end
	})
	if err = errors.Join(bad, err); err != nil {
		return nil, err
	}
	return records[max(0, len(records)-want):], nil
}
