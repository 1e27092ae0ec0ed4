package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine/blocks"
)

// A Report lists blocks of the store that were found damaged, and the state of their messages.
type Report = blocks.Report

// prepare checks and repairs the directory before a server starts; see [blocks.Open]. The caller
// holds the lock.
func (n *node) prepare() (*blocks.Unread, error) {
	r, unread, err := blocks.Open(n.dir, blocks.Options{Now: time.Now(), Logger: n.log})
	if err != nil {
		return nil, fmt.Errorf("engine on %s: %w", n.dir, err)
	}
	if r != nil {
		logDamage(n.log, "engine: blocks of the store are damaged; all undamaged messages were recovered", *r)
	}
	return unread, nil
}

// logDamage logs a report with its counts.
func logDamage(log *slog.Logger, what string, r Report) {
	whole, lost, _ := r.Totals()
	for _, f := range r.Findings {
		log.Warn("engine: "+f.String(), "stream", f.Stream, "block", f.Block, "kind", f.Kind, "whole", f.Whole, "lost", f.Lost)
	}
	log.Error(what, "blocks", len(r.Findings), "whole", whole, "lost", lost, "kept", r.Dir,
		"fix", "stop the engine, then `patchbay engine repair`")
}

// A rebuildWatch copies each block that the server is about to rebuild. The server first logs a
// warning, and rebuilds the block when the call to its logger has returned. During this call, and
// at no other time, the bytes that the server will cut off can be copied.
type rebuildWatch struct {
	dir     string
	log     *slog.Logger
	replace func() // requests a new server in place of this one, without waiting

	unread map[string]bool // streams with blocks that were not read at the start

	keeping sync.Mutex // held while a block is copied, so that it is copied once

	mu     sync.Mutex      // protects missed
	missed map[string]bool // streams with a missing block: the server warns at every read, but it is reported once
}

func (w *rebuildWatch) first(stream string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.missed[stream] {
		return false
	}
	if w.missed == nil {
		w.missed = make(map[string]bool)
	}
	w.missed[stream] = true
	return true
}

// onWarning handles one warning. The server may hold its own locks meanwhile, so onWarning must not
// call it.
func (w *rebuildWatch) onWarning(format string, args []any) {
	stream, what, ok := filestoreWarning(format)
	if !ok {
		return
	}
	reports, err := w.keep(stream, what, args)
	if err != nil {
		w.log.Error("engine: the server rebuilds a block, and the block could not be copied before", "stream", stream, "err", err)
	}
	for _, r := range reports {
		logDamage(w.log, "engine: a block of the store is damaged; restarting the server to recover all undamaged messages", *r)
	}
	if len(reports) > 0 {
		w.replace()
	}
}

func (w *rebuildWatch) keep(stream, what string, args []any) ([]*Report, error) {
	w.keeping.Lock()
	defer w.keeping.Unlock()
	if strings.HasPrefix(what, "indexCacheBuf corrupt") && len(args) > 0 {
		path, ok := args[0].(string)
		if !ok {
			return nil, errors.New("the warning does not name a file")
		}
		r, err := blocks.Keep(w.dir, path, time.Now())
		if r == nil {
			return nil, err
		}
		return []*Report{r}, err
	}
	// A server that does not trust its index reads every block of the stream, and silently cuts off
	// damaged ones.
	if strings.HasPrefix(what, "Recovering stream state from index errored") && w.unread[stream] {
		return blocks.KeepAll(w.dir, stream, time.Now())
	}
	if strings.HasPrefix(what, "loadBlock error") && w.first(stream) {
		r, err := blocks.Note(w.dir, stream, time.Now())
		if err != nil {
			return nil, err
		}
		return []*Report{r}, nil
	}
	for _, begin := range []string{"Detected skew", "checkMsgs", "Stream state encountered internal inconsistency on write"} {
		if strings.HasPrefix(what, begin) {
			return blocks.KeepAll(w.dir, stream, time.Now())
		}
	}
	return nil, nil
}

// filestoreWarning splits a warning of the server's file store: "Filestore [NAME] what happened".
func filestoreWarning(format string) (stream, what string, ok bool) {
	rest, ok := strings.CutPrefix(format, "Filestore [")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, "] ")
}

// Damage lists the reports of an embedded engine that were not acknowledged with `patchbay engine
// repair`.
func (e *Engine) Damage() ([]Report, error) {
	if e.node == nil {
		return nil, nil
	}
	return blocks.Unacknowledged(e.node.dir)
}

// errReplacing is returned for an answer of a server that is about to be replaced. The answer may
// lack messages that the next server recovers. So the request is tried again.
var errReplacing = errors.New("the server is being replaced")

// replacing reports whether this process is about to replace its server. A guest does not know
// that, but it loses its connection.
func (e *Engine) replacing() bool { return e.node != nil && e.node.faults.isPending() }
