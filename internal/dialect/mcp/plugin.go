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

// The compiler checks that the types have the methods of the interfaces that the host looks for.
var (
	_ dialect.Dialect       = (*Dialect)(nil)
	_ dialect.Plugin        = (*plugin)(nil)
	_ dialect.ToolCaller    = (*plugin)(nil)
	_ dialect.MethodCaller  = (*plugin)(nil)
	_ dialect.Lister        = (*plugin)(nil)
	_ dialect.HealthChecker = (*plugin)(nil)
)

// A connection leads to a server and is opened again if it is lost.
type connection interface {
	get(ctx context.Context) (*link, error) // the current link
	status() dialect.Status
	close(ctx context.Context)
}

// A plugin is an opened MCP server.
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

	ctx      context.Context // ends when the plugin is closed
	end      context.CancelFunc
	spawning sync.Mutex     // held while a goroutine is added to work, and while ctx is ended
	work     sync.WaitGroup // all goroutines of the plugin

	listing sync.Mutex // held while the lists are read

	mu         sync.Mutex         // protects the fields below
	second     connection         // a connection of the handshake kind for clients of that kind, if main is modern; nil: not needed yet
	tried      time.Time          // when opening second failed last
	subscribed map[string]bool    // the resources to which clients subscribe, by their URIs
	listen     context.CancelFunc // ends the subscription to changes on the main connection
}

func newPlugin(s *Server, settings dialect.Settings, rt *dialect.Runtime) *plugin {
	p := &plugin{server: s, settings: settings, rt: rt, log: rt.Log, subscribed: make(map[string]bool),
		noise: dialect.NewNoiseLog(func() *slog.Logger { return rt.Log })}
	p.ctx, p.end = context.WithCancel(context.Background())
	return p
}

// open connects and reads the lists.
func (p *plugin) open(ctx context.Context) (err error) {
	p.lists.Store(&lists{})
	p.noise.Starting(p.rt.Odd)
	defer p.noise.Started()
	if p.main, err = p.connect(ctx, nil); err != nil {
		p.end()
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
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

// secondWait is the pause before a second connection that failed is tried again.
const secondWait = time.Minute

// linkFor returns the connection for a call. A client that can be asked questions and speaks the
// handshake kind gets a connection of that kind, if the server has it. A modern server cannot ask
// such a client in the middle of a call.
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
		p.log.Debug("a second connection to the server cannot be opened", "err", err)
		p.tried = time.Now()
		return nil
	}
	p.second = second
	return second
}

// Info returns what the server declares, with its current tools.
func (p *plugin) Info() dialect.Info {
	now := p.lists.Load()
	return dialect.Info{Name: p.server.Name, Version: now.welcome.version, Description: now.description(),
		Tools: now.tools, Methods: now.methods(), Priority: hook.DefaultPriority, Protocol: now.protocol}
}

// Tools returns the server's current tools.
func (p *plugin) Tools() []dialect.Tool { return p.lists.Load().tools }

// Offers returns the server's current prompts and resources.
func (p *plugin) Offers() []dialect.Offer { return p.lists.Load().offers }

// Hooks returns none.
func (p *plugin) Hooks() []hook.Hook { return nil }

// Status returns the state of the connection.
func (p *plugin) Status() dialect.Status {
	st := p.main.status()
	if h := p.health.Load(); h != nil && st.Err == nil {
		st.Health = *h
	}
	st.Notifications, st.NotificationsDropped = p.notified.Load(), p.dropped.Load()
	return st
}

// CheckHealth sends a ping and stores the result for Status.
func (p *plugin) CheckHealth(ctx context.Context) {
	health := "ok"
	l, err := p.main.get(ctx)
	if err == nil {
		method := "ping"
		if l.era == modern {
			method = "server/discover" // modern servers have no ping
		}
		_, err = l.call(ctx, method, rawjson.Object{})
	}
	if err != nil && !errors.Is(err, hook.Refused) { // an error is an answer too
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
	var closing sync.WaitGroup
	if second != nil {
		closing.Go(func() { second.close(ctx) })
	}
	p.main.close(ctx)
	closing.Wait()
	p.work.Wait()
	return nil
}

// spawn runs do on a goroutine that Close waits for. do must end when p.ctx ends.
func (p *plugin) spawn(do func()) {
	p.spawning.Lock()
	defer p.spawning.Unlock()
	if p.ctx.Err() == nil {
		p.work.Go(do)
	}
}

// clientInfo is the name and version that servers get.
func (p *plugin) clientInfo() json.RawMessage {
	return fmt.Appendf(nil, `{"name":"patchbay","version":%s}`, rawjson.String(p.rt.HostVersion))
}
