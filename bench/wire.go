package main

import (
	"context"
	"encoding/json"
	"os"

	"github.com/patchbay-dev/patchbay/internal/wire"
)

// wireMethod is the method that both wire contestants call. It is as long as the method of a
// scaffold hook.
const wireMethod = "hook/post_user_input"

// A wired child is called through Patchbay's wire alone. conn is a [wire.Serial], with one call in
// flight, whose calling goroutine writes and reads; or a [wire.Peer], with many calls in flight and
// a separate goroutine that reads the replies.
type wired struct {
	name    string
	serve   string // the child
	connect func(c *child) conn
	child   *child
	conn    conn
}

type conn interface {
	Call(ctx context.Context, method string, params []byte) (json.RawMessage, error)
	Close() error
}

func newWireSerial() Contestant {
	return &wired{name: nameWire, serve: "wire", connect: func(c *child) conn { return wire.NewSerial(c.out, c.in, wire.Options{}) }}
}

func newWirePeer(serve string) Contestant {
	return &wired{name: namePeer, serve: serve, connect: func(c *child) conn { return wire.NewPeer(c.out, c.in, wire.PeerOptions{}) }}
}

func (w *wired) Name() string { return w.name }

func (w *wired) Open(ctx context.Context) (err error) {
	if w.child, err = startChild(ctx, w.serve); err != nil {
		return err
	}
	w.conn = w.connect(w.child)
	return nil
}

func (w *wired) Call(ctx context.Context, payload []byte) error {
	reply, err := w.conn.Call(ctx, wireMethod, payload)
	if err != nil {
		return err
	}
	return checkEcho(payload, reply)
}

func (w *wired) Close() error {
	if w.conn != nil {
		_ = w.conn.Close()
	}
	return w.child.Close()
}

// wireChild answers every call with its params.
func wireChild() error {
	return wire.ServeLent(os.Stdin, os.Stdout, func(_ string, params json.RawMessage) (json.RawMessage, error) {
		return params, nil
	})
}
