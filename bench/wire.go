package main

import (
	"cmp"
	"context"
	"encoding/json"
	"os"

	"github.com/patchbay-dev/patchbay/internal/wire"
)

// wireMethod is the method that both wire contestants call. It is as long as the method of a
// scaffold hook.
const wireMethod = "hook/post_user_input"

// wireSerial is Patchbay's wire with one call in flight: the calling goroutine writes and reads.
type wireSerial struct {
	child *child
	wire  *wire.Serial
}

func (w *wireSerial) Name() string { return nameWire }

func (w *wireSerial) Open(ctx context.Context) error {
	child, err := startChild(ctx, "wire")
	if err != nil {
		return err
	}
	w.child = child
	w.wire = wire.NewSerial(child.out, child.in, wire.Options{})
	return nil
}

func (w *wireSerial) Call(ctx context.Context, payload []byte) error {
	reply, err := w.wire.Call(ctx, wireMethod, payload)
	if err != nil {
		return err
	}
	return checkEcho(payload, reply)
}

func (w *wireSerial) Close() error {
	if w.wire != nil {
		w.wire.Close()
	}
	return w.child.Close()
}

// wirePeer is Patchbay's wire with many calls in flight: a separate goroutine reads the replies.
type wirePeer struct {
	serve string // the child; "": "wire"
	child *child
	wire  *wire.Peer
}

func (w *wirePeer) Name() string { return namePeer }

func (w *wirePeer) Open(ctx context.Context) error {
	child, err := startChild(ctx, cmp.Or(w.serve, "wire"))
	if err != nil {
		return err
	}
	w.child = child
	w.wire = wire.NewPeer(child.out, child.in, wire.PeerOptions{})
	return nil
}

func (w *wirePeer) Call(ctx context.Context, payload []byte) error {
	reply, err := w.wire.Call(ctx, wireMethod, payload)
	if err != nil {
		return err
	}
	return checkEcho(payload, reply)
}

func (w *wirePeer) Close() error {
	if w.wire != nil {
		w.wire.Close()
	}
	return w.child.Close()
}

// wireChild answers every call with its params.
func wireChild() error {
	return wire.ServeLent(os.Stdin, os.Stdout, func(_ string, params json.RawMessage) (json.RawMessage, error) {
		return params, nil
	})
}
