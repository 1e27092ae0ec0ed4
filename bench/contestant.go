package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// Contestant is one way to call a plugin process.
type Contestant interface {
	// Name is its name in the tables.
	Name() string
	// Open starts the plugin process and makes the protocol's handshake. If this contestant cannot
	// take part on this machine, the error wraps errSkip.
	Open(ctx context.Context) error
	// Call sends the payload, a JSON object, waits for the answer, and checks it. For most
	// contestants the answer is the same object, and checkEcho compares the two. The in-flight
	// section calls Call from many goroutines at once, the other sections from one.
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

// oneAtATime lists the contestants of the sections that make one call at a time.
func oneAtATime() []Contestant {
	return []Contestant{
		&bare{}, newWireSerial(), newWirePeer("wire"),
		newFire(watched), newFire(handedBack), newFire(textEdited), newFire(objectEdited),
		&jrpc2Line{}, &netRPC{}, &grpcPlugin{}, &mcpTool{},
	}
}

// manyInFlight lists the contestants of the section in which many calls share one plugin process.
// The bare pipe and the serial wire allow only one call at a time, so they are not in it.
func manyInFlight() []Contestant {
	return []Contestant{newWirePeer("wire"), &fireMany{name: nameFireMany}, &fireMany{name: nameInjectMany, inject: true}, &jrpc2Line{}, &netRPC{}, &grpcPlugin{}, &mcpTool{}}
}

// children returns the main functions of the plugin processes, by the value of BENCH_CHILD.
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

// checkEcho checks that the reply equals the request, byte for byte. It costs every contestant the
// same few nanoseconds (2 µs at 64 KiB).
func checkEcho(sent, got []byte) error {
	if bytes.Equal(sent, got) {
		return nil
	}
	return fmt.Errorf("reply of %d bytes differs from the %d sent: %.60q", len(got), len(sent), got)
}
