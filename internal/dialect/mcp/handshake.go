package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/mcpcall"
	"github.com/patchbay-dev/patchbay/internal/wire"
	"github.com/patchbay-dev/patchbay/rawjson"
)

const (
	probeTimeout     = 5 * time.Second  // for server/discover over pipes; a program that does not know it may not answer at all
	probeHTTP        = 30 * time.Second // for server/discover over HTTP, where every request gets an answer
	handshakeTimeout = 60 * time.Second // for the whole handshake; a package manager may have to fetch the server first
	shown            = 200              // bytes of a server's text in errors
)

// A welcome is what a server declares about itself.
type welcome struct {
	name, title, version string
	instructions         string
	capabilities         rawjson.Object
}

// can reports whether the server has a capability.
func (w *welcome) can(name string) bool {
	v := w.capabilities.Get(name)
	return !rawjson.Missing(v)
}

// negotiate finds out which kind of the protocol a server speaks, and opens the connection. If the
// server speaks both kinds, negotiate uses the modern one, unless only says otherwise.
func (l *link) negotiate(ctx context.Context, only *era) error {
	ctx, cancel := context.WithTimeoutCause(ctx, handshakeTimeout, fmt.Errorf("no answer to the handshake within %s", handshakeTimeout))
	defer cancel()
	if only == nil || *only == modern {
		err := l.discover(ctx)
		if err == nil || only != nil || errors.Is(err, wire.ErrClosed) || ctx.Err() != nil {
			return handshakeError(ctx, err)
		}
	}
	return handshakeError(ctx, l.initialize(ctx))
}

// handshakeError returns the error of a handshake. If a timeout ended it, that is the context's
// cause.
func handshakeError(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// discover opens a modern connection. It fails if the server does not speak the modern revision.
func (l *link) discover(ctx context.Context) error {
	patience := probeTimeout
	if l.owner.server.URL != "" {
		patience = probeHTTP
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	l.era, l.version = modern, mcpcall.Modern
	result, err := l.call(ctx, "server/discover", rawjson.Object{})
	if rpc, ok := errors.AsType[*wire.RPCError](err); ok && rpc.Code == codeVersion && names(rpc.Data, mcpcall.Modern) {
		result, err = l.call(ctx, "server/discover", rawjson.Object{}) // its error lists the version of the request as supported, so it is tried once more
	}
	if err != nil {
		return err
	}
	o, err := rawjson.Parse(result)
	if err != nil {
		return garbled("server/discover", result)
	}
	var versions []string
	if json.Unmarshal(o.Get("supportedVersions"), &versions) != nil || !slices.Contains(versions, mcpcall.Modern) {
		return fmt.Errorf("it does not speak %s", mcpcall.Modern)
	}
	meta, _ := rawjson.Parse(o.Get("_meta"))
	who := meta.Get(mcpcall.MetaServer)
	if len(who) == 0 {
		who = o.Get("serverInfo")
	}
	l.welcome = readWelcome(o, who)
	return nil
}

// codeVersion is the error code of a server that does not support the version of a request.
const codeVersion = -32022

// names reports whether the data of an error with the code codeVersion lists a version as
// supported.
func names(data json.RawMessage, version string) bool {
	var d struct {
		Supported []string `json:"supported"`
	}
	return json.Unmarshal(data, &d) == nil && slices.Contains(d.Supported, version)
}

// initialize opens a connection with a handshake.
func (l *link) initialize(ctx context.Context) error {
	l.era, l.version = handshake, ""
	result, err := l.call(ctx, "initialize", rawjson.Object{
		field("protocolVersion", rawjson.String(mcpcall.Handshake)),
		field("capabilities", json.RawMessage(`{"roots":{"listChanged":false},"sampling":{},"elicitation":{"form":{},"url":{}}}`)),
		field("clientInfo", l.owner.clientInfo()),
	})
	if err != nil {
		return err
	}
	o, err := rawjson.Parse(result)
	if err != nil {
		return garbled("initialize", result)
	}
	version, _ := o.String("protocolVersion")
	if !slices.Contains(mcpcall.Versions, version) || version == mcpcall.Modern {
		return hook.Failure(hook.Outdated, fmt.Errorf("it answers initialize with version %s, which is not one of %v",
			excerpt.Of(version, shown), mcpcall.Versions[:len(mcpcall.Versions)-1]))
	}
	l.version, l.welcome = version, readWelcome(o, o.Get("serverInfo"))
	if err := l.notify(ctx, "notifications/initialized", json.RawMessage("{}")); err != nil {
		return err
	}
	if l.welcome.can("logging") {
		// The server sends everything; the session of each client filters by its own level.
		if _, err := l.call(ctx, "logging/setLevel", rawjson.Object{field("level", json.RawMessage(`"debug"`))}); err != nil {
			l.owner.log.Debug("the server does not accept a log level", "err", err)
		}
	}
	return nil
}

func readWelcome(o rawjson.Object, info json.RawMessage) welcome {
	w := welcome{}
	w.instructions, _ = o.String("instructions")
	w.capabilities, _ = rawjson.Parse(o.Get("capabilities"))
	who, _ := rawjson.Parse(info)
	w.name, _ = who.String("name")
	w.title, _ = who.String("title")
	w.version, _ = who.String("version")
	return w
}

func garbled(method string, result json.RawMessage) error {
	return hook.Failure(hook.Garbled, fmt.Errorf("%s was answered with %q instead of an object", method, excerpt.Of(string(result), shown)))
}
