package main

import (
	"context"
	"fmt"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// grpcPlugin is hashicorp/go-plugin with its newer protocol: gRPC over a Unix socket. The payload
// is sent as bytes, the cheapest type of protobuf. go-plugin itself asks for gRPC 1.61; go.mod has
// 1.64.1. Later ones (1.85 was tried against 1.61) are no faster with 300 bytes and slower with 64
// KiB.
type grpcPlugin struct {
	goPlugin
	conn *grpc.ClientConn
}

// grpcMethod is the full name a gRPC call carries.
const grpcMethod = "/bench.Echo/Echo"

func (g *grpcPlugin) Name() string { return nameGRPC }

func (g *grpcPlugin) Open(ctx context.Context) error {
	if err := g.open(ctx, "grpc", &grpcEcho{}, plugin.ProtocolGRPC); err != nil {
		return err
	}
	conn, ok := g.echo.(*grpc.ClientConn)
	if !ok {
		return fmt.Errorf("go-plugin dispensed a %T", g.echo)
	}
	g.conn = conn
	return nil
}

func (g *grpcPlugin) Call(ctx context.Context, payload []byte) error {
	var reply wrapperspb.BytesValue
	if err := g.conn.Invoke(ctx, grpcMethod, &wrapperspb.BytesValue{Value: payload}, &reply); err != nil {
		return err
	}
	return checkEcho(payload, reply.Value)
}

// grpcEcho is both sides of the plugin, in go-plugin's terms.
type grpcEcho struct{ plugin.NetRPCUnsupportedPlugin }

func (*grpcEcho) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "bench.Echo",
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Echo", Handler: grpcAnswer}},
	}, struct{}{})
	return nil
}

func (*grpcEcho) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return c, nil
}

// grpcAnswer is what protoc would generate for one unary method, without interceptors.
func grpcAnswer(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	payload := new(wrapperspb.BytesValue)
	if err := decode(payload); err != nil {
		return nil, err
	}
	return payload, nil
}

func grpcChild() error {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: goPluginShake(),
		Plugins:         plugin.PluginSet{"echo": &grpcEcho{}},
		GRPCServer:      plugin.DefaultGRPCServer, // the default, as most programs use it
		Logger:          hclog.NewNullLogger(),
	})
	return nil
}
