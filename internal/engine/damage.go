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

// A Report says which blocks of the store were found damaged, and what became of their messages.
type Report = blocks.Report

// A Finding is one block of a report.
type Finding = blocks.Finding

// prepare makes the directory ready for a server: see [blocks.Open]. It has the lock.
func (n *node) prepare() (*blocks.Unread, error) {
	r, unread, err := blocks.Open(n.dir, blocks.Options{Now: time.Now(), Logger: n.log})
	if err != nil {
		return nil, fmt.Errorf("engine on %s: %w", n.dir, err)
	}
	if r != nil {
		logDamage(n.log, "engine: blocks of the store are damaged; what is whole was recovered", *r)
	}
	return unread, nil
}

// logDamage logs a report, with its counts.
func logDamage(log *slog.Logger, what string, r Report) {
	whole, lost, _ := r.Totals()
	for _, f := range r.Findings {
		log.Warn("engine: "+f.String(), "stream", f.Stream, "block", f.Block, "kind", f.Kind, "whole", f.Whole, "lost", f.Lost)
	}
	log.Error(what, "blocks", len(r.Findings), "whole", whole, "lost", lost, "kept", r.Dir,
		"fix", "stop the engine, then `patchbay engine repair`")
}

// A rebuildWatch listens to the server's log. The server tells there that it is about to rebuild a
// block, and does so only after the call has returned: the one moment at which what it will cut off
// can still be copied.
type rebuildWatch struct {
	dir     string
	log     *slog.Logger
	replace func() // has a new server take the place of this one, without waiting

	unread map[string]bool // streams of which the start has read no block

	keeping sync.Mutex // held while a block is copied aside, so that it is done once

	mu     sync.Mutex      // protects missed
	missed map[string]bool // streams of which a block was found missing: the server says so at every read
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

// onWarning looks at one warning. The server may hold locks of its own meanwhile: nothing here may call
// it.
func (w *rebuildWatch) onWarning(format string, args []any) {
	stream, what, ok := filestoreWarning(format)
	if !ok {
		return
	}
	reports, err := w.keep(stream, what, args)
	if err != nil {
		w.log.Error("engine: the server rebuilds a block, and what it cuts off could not be kept aside", "stream", stream, "err", err)
	}
	for _, r := range reports {
		logDamage(w.log, "engine: a block of the store is damaged; the server is started anew to recover what is whole", *r)
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
			return nil, errors.New("the warning names no file")
		}
		r, err := blocks.Keep(w.dir, path, time.Now())
		if r == nil {
			return nil, err
		}
		return []*Report{r}, err
	}
	// A server that does not believe its index reads every block of the stream, and cuts without
	// another word.
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

// filestoreWarning takes a warning of the server's file store apart: "Filestore [NAME] what
// happened".
func filestoreWarning(format string) (stream, what string, ok bool) {
	rest, ok := strings.CutPrefix(format, "Filestore [")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, "] ")
}

// Damage lists what was found damaged in an embedded engine and that nobody has acknowledged with
// `patchbay engine repair`.
func (e *Engine) Damage() ([]Report, error) {
	if e.node == nil {
		return nil, nil
	}
	return blocks.Unacknowledged(e.node.dir)
}

// errReplacing is of an answer that may leave out messages which the next server has again. It
// passes.
var errReplacing = errors.New("the server is being replaced")

// replacing tells whether this process is about to replace its server. In a guest it is not known:
// there the connection is lost.
func (e *Engine) replacing() bool { return e.node != nil && e.node.faults.isPending() }
