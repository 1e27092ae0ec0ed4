package daemon

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/pythonfile"
)

const (
	mostParsing = 2                // drafts that are parsed at the same time, each by its own interpreter
	parseTime   = 10 * time.Second // for one draft
	parserIdle  = 30 * time.Second // after which an unused interpreter ends; longer than a user pauses while typing
	parserUses  = 500              // after which an interpreter is replaced, because its memory grows a little with each draft
)

// parsers parse drafts of Python plugins while a user types them. Starting an interpreter takes
// most of a second on a busy machine, so interpreters are reused.
type parsers struct {
	places chan struct{} // one entry for each draft that is being parsed

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

// parse parses a draft with an idle interpreter, or with a new one. If all places are taken, it
// waits for one.
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

// take returns the parser that was used last, or nil if none is idle.
func (p *parsers) take() *idleParser {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	if last < 0 {
		return nil
	}
	one := p.idle[last]
	p.idle = p.idle[:last]
	one.timer.Stop() // if it has already fired, expire does not find the parser
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

// expire ends a parser if it is still idle.
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

// close ends all idle parsers. Those that are parsing end after their draft.
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
