package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/mcpcall"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// What the host asks of a plugin by interface, so that a change there is noticed here.
var (
	_ dialect.Dialect       = (*Dialect)(nil)
	_ dialect.Plugin        = (*plugin)(nil)
	_ dialect.ToolCaller    = (*plugin)(nil)
	_ dialect.MethodCaller  = (*plugin)(nil)
	_ dialect.Lister        = (*plugin)(nil)
	_ dialect.HealthChecker = (*plugin)(nil)
)

// A connection is the way to a server that is kept open.
type connection interface {
	get(ctx context.Context) (*link, error) // the one there is now
	status() dialect.Status
	close(ctx context.Context)
}

// A plugin is an MCP server at work.
type plugin struct {
	server   *Server
	settings dialect.Settings
	rt       *dialect.Runtime
	log      *slog.Logger
	noise    *dialect.NoiseLog

	remote   mcpcall.Remote
	main     connection
	lists    atomic.Pointer[lists]
	notified atomic.Int64
	dropped  atomic.Int64
	health   atomic.Pointer[string]
	waiting  suspensions

	ctx      context.Context // ends with the plugin
	end      context.CancelFunc
	spawning sync.Mutex     // held while a goroutine is added to work, and while ctx is ended
	work     sync.WaitGroup // every goroutine of the plugin's own

	listing sync.Mutex // held by who reads the lists

	mu     sync.Mutex // protects the fields below
	second connection // of the kind with a handshake, for clients of it, where the main one is not; nil: not needed yet
	tried  time.Time  // when it could last not be opened
	heed   map[string]bool
	listen context.CancelFunc // ends what listens for changes on the main connection
}

func newPlugin(s *Server, settings dialect.Settings, rt *dialect.Runtime) *plugin {
	p := &plugin{server: s, settings: settings, rt: rt, log: rt.Log, heed: make(map[string]bool),
		noise: dialect.NewNoiseLog(func() *slog.Logger { return rt.Log })}
	p.ctx, p.end = context.WithCancel(context.Background())
	return p
}

// open connects, and learns what the server has.
func (p *plugin) open(ctx context.Context) (err error) {
	p.lists.Store(&lists{})
	if p.main, err = p.connect(ctx, nil); err != nil {
		p.end()
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, greetTimeout)
	defer cancel()
	if err = p.read(ctx); err != nil {
		return joined(err, p.Close(context.WithoutCancel(ctx)))
	}
	p.follow()
	return nil
}

func joined(err, other error) error {
	if other != nil {
		return fmt.Errorf("%w; %w", err, other)
	}
	return err
}

func (p *plugin) connect(ctx context.Context, only *era) (connection, error) {
	if p.server.URL != "" {
		return p.openWeb(ctx, only)
	}
	return p.openPipes(ctx, only)
}

// secondWait is how long a server that could not be reached in a second way is spared another try.
const secondWait = time.Minute

// linkFor is the connection for a call. A client that can be asked questions and speaks the kind
// with a handshake gets one of that kind, where the server has it: a server of the modern kind
// cannot put questions to it in the middle of a call.
func (p *plugin) linkFor(ctx context.Context) (*link, error) {
	l, err := p.main.get(ctx)
	caller := mcpcall.From(ctx)
	if err != nil || caller == nil || caller.Modern || l.era == handshake || caller.Ask == nil || len(caller.Capabilities) <= len("{}") {
		return l, err
	}
	if second := p.secondFor(ctx); second != nil {
		if other, err := second.get(ctx); err == nil {
			return other, nil
		}
	}
	return l, nil
}

func (p *plugin) secondFor(ctx context.Context) connection {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.second != nil || p.ctx.Err() != nil || !p.tried.IsZero() && time.Since(p.tried) < secondWait {
		return p.second
	}
	old := handshake
	second, err := p.connect(ctx, &old)
	if err != nil {
		p.log.Debug("the server has no second way to be spoken to", "err", err)
		p.tried = time.Now()
		return nil
	}
	p.second = second
	return second
}

// Info is what the server says of itself, and has now.
func (p *plugin) Info() dialect.Info {
	now := p.lists.Load()
	return dialect.Info{Name: p.server.Name, Version: now.welcome.version, Description: now.description(),
		Tools: now.tools, Methods: now.methods(), Priority: hook.DefaultPriority, Protocol: now.protocol}
}

// Tools are the tools that the server has now.
func (p *plugin) Tools() []dialect.Tool { return p.lists.Load().tools }

// Offers are the prompts and resources that the server has now.
func (p *plugin) Offers() []dialect.Offer { return p.lists.Load().offers }

// Hooks are none.
func (p *plugin) Hooks() []hook.Hook { return nil }

// Status is how the connection is doing.
func (p *plugin) Status() dialect.Status {
	st := p.main.status()
	if h := p.health.Load(); h != nil && st.Err == nil {
		st.Health = *h
	}
	st.Notifications, st.NotificationsDropped = p.notified.Load(), p.dropped.Load()
	return st
}

// CheckHealth asks the server for a sign of life.
func (p *plugin) CheckHealth(ctx context.Context) {
	health := "ok"
	l, err := p.main.get(ctx)
	if err == nil {
		method := "ping"
		if l.era == modern {
			method = "server/discover" // there is no ping any more
		}
		_, err = l.call(ctx, method, rawjson.Object{})
	}
	if err != nil && !errors.Is(err, hook.Refused) { // a refusal is a sign of life
		health = "failing: " + err.Error()
	}
	p.health.Store(&health)
}

// Close ends the connections.
func (p *plugin) Close(ctx context.Context) error {
	p.mu.Lock()
	second := p.second
	if p.listen != nil {
		p.listen()
	}
	p.mu.Unlock()
	p.spawning.Lock()
	p.end()
	p.spawning.Unlock()
	var farewells sync.WaitGroup
	if second != nil {
		farewells.Go(func() { second.close(ctx) })
	}
	p.main.close(ctx)
	farewells.Wait()
	p.work.Wait()
	return nil
}

// spawn does something that Close waits for. It ends with p.ctx.
func (p *plugin) spawn(do func()) {
	p.spawning.Lock()
	defer p.spawning.Unlock()
	if p.ctx.Err() == nil {
		p.work.Go(do)
	}
}

// clientInfo is who we are to servers.
func (p *plugin) clientInfo() json.RawMessage {
	return fmt.Appendf(nil, `{"name":"patchbay","version":%s}`, rawjson.String(p.rt.HostVersion))
}
