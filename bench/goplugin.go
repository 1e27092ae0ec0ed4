package main

import (
	"context"
	"fmt"
	"io"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
)

// goPlugin is the part that the two go-plugin contestants share: the process and the handshake.
// go-plugin listens on a Unix socket here and uses no TLS by default; logging is off on both sides.
type goPlugin struct {
	client *plugin.Client
	echo   any // the client that go-plugin dispensed
}

// goPluginShake is the cookie by which go-plugin recognises its plugins; any shared value will do.
func goPluginShake() plugin.HandshakeConfig {
	return plugin.HandshakeConfig{ProtocolVersion: 1, MagicCookieKey: "BENCH_COOKIE", MagicCookieValue: "bench"}
}

func (g *goPlugin) open(ctx context.Context, childName string, p plugin.Plugin, proto plugin.Protocol) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	cmd, err := childCommand(childName)
	if err != nil {
		return err
	}
	g.client = plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  goPluginShake(),
		Plugins:          plugin.PluginSet{"echo": p},
		AllowedProtocols: []plugin.Protocol{proto},
		Cmd:              cmd,
		Logger:           hclog.NewNullLogger(),
		Stderr:           io.Discard,
	})
	conn, err := g.client.Client()
	if err != nil {
		return fmt.Errorf("start go-plugin child: %w", err)
	}
	g.echo, err = conn.Dispense("echo")
	return err
}

func (g *goPlugin) Close() error {
	if g.client != nil {
		g.client.Kill()
	}
	return nil
}
