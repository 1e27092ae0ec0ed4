package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// Contestant is one way to call a plugin process.
type Contestant interface {
	// Name is what the tables call it.
	Name() string
	// Open starts the plugin process and does whatever handshake the protocol wants. It returns an
	// error that wraps errSkip where this contestant cannot take part on this machine.
	Open(ctx context.Context) error
	// Call sends the payload, a JSON object, and returns once the same object has come back;
	// checkEcho compares the two. The in-flight section calls it from many goroutines at once, the
	// others from one.
	Call(ctx context.Context, payload []byte) error
	// Close ends the plugin process and waits for it.
	Close() error
}

// Names of the contestants that bars refer to.
const (
	nameBare   = "bare pipe"
	nameWire   = "patchbay wire"
	namePeer   = "patchbay wire, many in flight"
	nameNetRPC = "go-plugin net/rpc"
	nameGRPC   = "go-plugin gRPC"
	nameJRPC2  = "jrpc2"
	nameMCP    = "MCP Go SDK"
)

// errSkip marks a contestant that cannot take part here; the reason is shown in the table.
var errSkip = errors.New("skipped")

// oneAtATime lists who takes part where a single call is under way.
func oneAtATime() []Contestant {
	return []Contestant{
		&bare{}, &wireSerial{}, &wirePeer{},
		newFire(watched), newFire(handedBack), newFire(textEdited), newFire(objectEdited),
		&jrpc2Line{}, &netRPC{}, &grpcPlugin{}, &mcpTool{},
	}
}

// manyInFlight lists who takes part where many calls share one plugin process. The bare pipe and
// the serial wire have one call in flight by definition and stay out.
func manyInFlight() []Contestant {
	return []Contestant{&wirePeer{}, &fireMany{name: nameFireMany}, &fireMany{name: nameInjectMany, inject: true}, &jrpc2Line{}, &netRPC{}, &grpcPlugin{}, &mcpTool{}}
}

// children are the plugin processes, by the value of BENCH_CHILD.
func children() map[string]func() error {
	return map[string]func() error{
		"bare":      bareChild,
		"taker":     takerChild,
		"wire":      wireChild,
		"peer":      peerChild,
		"scaffold":  scaffoldChild,
		"kaged":     kagedChild,
		"quick":     quickChild,
		"fault":     faultChild,
		"jrpc2":     jrpc2Child,
		"netrpc":    netRPCChild,
		"grpc":      grpcChild,
		"mcp":       mcpChild,
		"connector": serveConnections,
	}
}

// checkEcho proves that the work was done: the reply equals the request, byte for byte. It costs
// every contestant the same few nanoseconds (2 µs at 64 KiB).
func checkEcho(sent, got []byte) error {
	if bytes.Equal(sent, got) {
		return nil
	}
	return fmt.Errorf("reply of %d bytes differs from the %d sent: %.60q", len(got), len(sent), got)
}
