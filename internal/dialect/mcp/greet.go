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
	probeTimeout = 5 * time.Second  // for server/discover over pipes; a program that does not know it may say nothing at all
	probeHTTP    = 30 * time.Second // for the same over HTTP, where every request has an answer
	greetTimeout = 60 * time.Second // for the whole: a server may be fetched by its package manager first
	shown        = 200              // bytes of foreign text in errors
)

// A welcome is what a server says of itself.
type welcome struct {
	name, title, version string
	instructions         string
	capabilities         rawjson.Object
}

// can tells whether the server has a capability.
func (w *welcome) can(name string) bool {
	v := w.capabilities.Get(name)
	return len(v) > 0 && string(v) != "null"
}

// greet finds out how a server wants to be spoken to, and opens the conversation so. Where it
// speaks both kinds, the modern one is taken, unless only the other will do.
func (l *link) greet(ctx context.Context, only *era) error {
	ctx, cancel := context.WithTimeoutCause(ctx, greetTimeout, fmt.Errorf("no answer to the handshake within %s", greetTimeout))
	defer cancel()
	if only == nil || *only == modern {
		err := l.discover(ctx)
		if err == nil || only != nil || errors.Is(err, wire.ErrClosed) || ctx.Err() != nil {
			return whose(ctx, err)
		}
	}
	return whose(ctx, l.initialize(ctx))
}

// whose is the error of a handshake: the cause of its own clock where that ended it.
func whose(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// discover opens the modern kind. It fails where the server does not speak it.
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
		result, err = l.call(ctx, "server/discover", rawjson.Object{}) // it says that it speaks what it was spoken to in
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

// codeVersion is the error of a server that does not speak the version it was spoken to in.
const codeVersion = -32022

// names tells whether such an error's data has a version among those that are supported.
func names(data json.RawMessage, version string) bool {
	var d struct {
		Supported []string `json:"supported"`
	}
	return json.Unmarshal(data, &d) == nil && slices.Contains(d.Supported, version)
}

// initialize opens the kind with a handshake.
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
		return hook.Failure(hook.Outdated, fmt.Errorf("it answers initialize with version %s, and is to be one of %v",
			excerpt.Of(version, shown), mcpcall.Versions[:len(mcpcall.Versions)-1]))
	}
	l.version, l.welcome = version, readWelcome(o, o.Get("serverInfo"))
	if err := l.notify(ctx, "notifications/initialized", json.RawMessage("{}")); err != nil {
		return err
	}
	if l.welcome.can("logging") {
		// Each client has a level of its own, which its own session knows.
		if _, err := l.call(ctx, "logging/setLevel", rawjson.Object{field("level", json.RawMessage(`"debug"`))}); err != nil {
			l.owner.log.Debug("the server does not take a level for its log", "err", err)
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
	return hook.Failure(hook.Garbled, fmt.Errorf("%s was answered with %q, where an object is due", method, excerpt.Of(string(result), shown)))
}
