package main

import (
	"context"
	"encoding/json"
	"os"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"
	"github.com/creachadair/jrpc2/handler"
)

// jrpc2Line is creachadair/jrpc2 over newline-framed pipes, params and results raw.
type jrpc2Line struct {
	child  *child
	client *jrpc2.Client
}

func (j *jrpc2Line) Name() string { return nameJRPC2 }

func (j *jrpc2Line) Open(ctx context.Context) error {
	child, err := startChild(ctx, "jrpc2")
	if err != nil {
		return err
	}
	j.child = child
	j.client = jrpc2.NewClient(channel.Line(child.out, child.in), nil)
	return nil
}

func (j *jrpc2Line) Call(ctx context.Context, payload []byte) error {
	var reply json.RawMessage
	if err := j.client.CallResult(ctx, "echo", json.RawMessage(payload), &reply); err != nil {
		return err
	}
	return checkEcho(payload, reply)
}

func (j *jrpc2Line) Close() error {
	if j.client != nil {
		j.client.Close()
	}
	return j.child.Close()
}

// jrpc2Child answers echo with its params.
func jrpc2Child() error {
	echo := func(_ context.Context, r *jrpc2.Request) (any, error) {
		var params json.RawMessage
		err := r.UnmarshalParams(&params)
		return params, err
	}
	// Built-in methods off: one map lookup less per call.
	server := jrpc2.NewServer(handler.Map{"echo": echo}, &jrpc2.ServerOptions{DisableBuiltin: true})
	return server.Start(channel.Line(pollable(os.Stdin), os.Stdout)).Wait()
}
