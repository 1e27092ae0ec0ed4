package daemon

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/pythonfile"
)

const (
	mostParsing = 2                // drafts that are parsed side by side, each by an interpreter of its own
	parseTime   = 10 * time.Second // for one to be parsed
	parserIdle  = 30 * time.Second // after which an interpreter ends that has no draft: longer than a person pauses while typing
	parserUses  = 500              // after which an interpreter is replaced: what it keeps in memory grows a little with each draft
)

// parsers parse drafts of Python plugins while a person types them. An interpreter takes most of a
// second to start on a busy machine, so it is kept for the next draft.
type parsers struct {
	places chan struct{} // one for each draft that is parsed

	mu     sync.Mutex // protects the fields below
	idle   []*idleParser
	closed bool
}

// An idleParser waits for a draft. Its timer ends it.
type idleParser struct {
	*pythonfile.Parser
	uses  int
	timer *time.Timer
}

func newParsers() *parsers { return &parsers{places: make(chan struct{}, mostParsing)} }

// parse parses a draft with an interpreter that is there, or with a new one. A caller that comes
// while all places are taken waits for one.
func (p *parsers) parse(ctx context.Context, files pythonfile.Files, content string) error {
	select {
	case p.places <- struct{}{}:
		defer func() { <-p.places }()
	case <-ctx.Done():
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, parseTime)
	defer cancel()
	one := p.take()
	if one == nil {
		parser, err := files.Parser(ctx)
		if err != nil {
			return err
		}
		one = &idleParser{Parser: parser}
	}
	err := one.Parse(ctx, content)
	p.put(one)
	return err
}

// take returns the parser that was used last; nil: there is none.
func (p *parsers) take() *idleParser {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	if last < 0 {
		return nil
	}
	one := p.idle[last]
	p.idle = p.idle[:last]
	one.timer.Stop() // one that has fired finds that it is taken
	return one
}

// put keeps a parser for the next draft, or ends it.
func (p *parsers) put(one *idleParser) {
	one.uses++
	p.mu.Lock()
	keep := !p.closed && !one.Broken() && one.uses < parserUses
	if keep {
		p.idle = append(p.idle, one)
		one.timer = time.AfterFunc(parserIdle, func() { p.expire(one) })
	}
	p.mu.Unlock()
	if !keep {
		one.Close(context.Background())
	}
}

// expire ends a parser that is still idle.
func (p *parsers) expire(one *idleParser) {
	p.mu.Lock()
	at := slices.Index(p.idle, one)
	if at >= 0 {
		p.idle = slices.Delete(p.idle, at, at+1)
	}
	p.mu.Unlock()
	if at >= 0 {
		one.Close(context.Background())
	}
}

// close ends all idle parsers; those at work end after their draft.
func (p *parsers) close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, one := range idle {
		one.timer.Stop()
		one.Close(context.Background())
	}
}
