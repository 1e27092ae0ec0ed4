package main

import (
	"context"
	"fmt"
	"net/rpc"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
)

// netRPC is hashicorp/go-plugin with its older protocol: net/rpc with gob over a yamux stream.
type netRPC struct {
	goPlugin
	rpc *rpc.Client
}

func (n *netRPC) Name() string { return nameNetRPC }

func (n *netRPC) Open(ctx context.Context) error {
	if err := n.open(ctx, "netrpc", netRPCEcho{}, plugin.ProtocolNetRPC); err != nil {
		return err
	}
	client, ok := n.echo.(*rpc.Client)
	if !ok {
		return fmt.Errorf("go-plugin dispensed a %T", n.echo)
	}
	n.rpc = client
	return nil
}

func (n *netRPC) Call(_ context.Context, payload []byte) error {
	var reply []byte
	if err := n.rpc.Call("Plugin.Echo", payload, &reply); err != nil {
		return err
	}
	return checkEcho(payload, reply)
}

// netRPCEcho is both sides of the plugin, in go-plugin's terms.
type netRPCEcho struct{}

func (netRPCEcho) Server(*plugin.MuxBroker) (any, error) { return netRPCServer{}, nil }

func (netRPCEcho) Client(_ *plugin.MuxBroker, c *rpc.Client) (any, error) { return c, nil }

// netRPCServer has the method that net/rpc finds by reflection.
type netRPCServer struct{}

// Echo answers with what it was sent.
func (netRPCServer) Echo(payload []byte, reply *[]byte) error {
	*reply = payload
	return nil
}

func netRPCChild() error {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: goPluginShake(),
		Plugins:         plugin.PluginSet{"echo": netRPCEcho{}},
		Logger:          hclog.NewNullLogger(),
	})
	return nil
}
