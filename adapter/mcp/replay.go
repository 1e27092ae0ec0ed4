package mcp

import (
	"context"
	"iter"
	"slices"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// mostReplays limits how many streams of a session can be read again. Each answer is a stream.
const mostReplays = 200

// replays keeps what was sent over HTTP, so that a client whose connection broke can read the rest.
// The library's store limits the bytes, but it keeps each stream until its session ends. So replays
// forgets the oldest streams of a session. To the store, each stream is a session of its own.
type replays struct {
	store *sdk.MemoryEventStore

	mu      sync.Mutex          // protects streams
	streams map[string][]string // by session: its streams, the oldest first
}

func newReplays() *replays {
	return &replays{store: sdk.NewMemoryEventStore(nil), streams: make(map[string][]string)}
}

func replayKey(session, stream string) string { return session + "/" + stream }

// Open begins a stream. It never forgets the stream without a name, which lasts as long as its
// session.
func (r *replays) Open(ctx context.Context, session, stream string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.streams[session]
	if slices.Contains(known, stream) {
		return nil
	}
	if known = append(known, stream); len(known) > mostReplays {
		oldest := slices.IndexFunc(known, func(id string) bool { return id != "" })
		if err := r.store.SessionClosed(ctx, replayKey(session, known[oldest])); err != nil {
			return err
		}
		known = slices.Delete(known, oldest, oldest+1)
	}
	r.streams[session] = known
	return r.store.Open(ctx, replayKey(session, stream), stream)
}

// Append keeps data of a stream, unless the stream is forgotten.
func (r *replays) Append(ctx context.Context, session, stream string, data []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.streams[session], stream) {
		return nil
	}
	return r.store.Append(ctx, replayKey(session, stream), stream, data)
}

// After returns what follows the given index. For a forgotten stream it returns one error.
func (r *replays) After(ctx context.Context, session, stream string, index int) iter.Seq2[[]byte, error] {
	return r.store.After(ctx, replayKey(session, stream), stream, index)
}

// SessionClosed forgets a session.
func (r *replays) SessionClosed(ctx context.Context, session string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, stream := range r.streams[session] {
		if err := r.store.SessionClosed(ctx, replayKey(session, stream)); err != nil {
			return err
		}
	}
	delete(r.streams, session)
	return nil
}
