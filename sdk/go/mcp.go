package plugin

import (
	"context"
	"encoding/json"
	"fmt"
)

// mcpVersions lists the revisions of MCP with a handshake.
var mcpVersions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// mcper answers in MCP: only tools.
type mcper struct{ session *session }

// mcp answers the handshake: in the client's version if it is known, else in the latest.
func (s *session) mcp(ctx context.Context, params []byte) (speaker, []byte, error) {
	var p struct {
		Version string `json:"protocolVersion"`
	}
	if err := decode(params, &p); err != nil {
		return nil, nil, err
	}
	if err := s.begin(ctx, nil, nil); err != nil {
		return nil, nil, err
	}
	version := mcpVersions[0]
	if contains(mcpVersions, p.Version) {
		version = p.Version
	}
	result, err := marshal(object{{"protocolVersion", version}, {"capabilities", object{{"tools", object{}}}},
		{"serverInfo", object{{"name", s.plugin.name}, {"version", s.plugin.version}}}, {"instructions", s.plugin.description}})
	return mcper{s}, result, err
}

func (mcper) alone() bool { return false }

func (d mcper) answer(ctx context.Context, out []byte, method, params []byte) ([]byte, error) {
	switch string(method) {
	case "ping":
		return append(out, "{}"...), nil
	case "tools/list":
		return appendValue(out, d.session.plugin.mcpTools())
	case "tools/call":
		return d.call(with(ctx, Call{Dialect: MCP}), out, params)
	}
	return nil, unknown(method)
}

func (p *Plugin) mcpTools() object {
	tools := []any{}
	for _, t := range p.tools {
		tools = append(tools, object{{"name", t.name}, {"description", t.description}, {"inputSchema", t.schema}})
	}
	return object{{"tools", tools}}
}

func (d mcper) call(ctx context.Context, out, params []byte) ([]byte, error) {
	var p struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := decode(params, &p); err != nil {
		return nil, err
	}
	tool := find(d.session.plugin.tools, p.Name)
	if tool == nil {
		return nil, &argumentError{fmt.Errorf("there is no tool %.100q", p.Name)}
	}
	result, err := d.session.plugin.invoke(ctx, tool, p.Arguments)
	text := ""
	if err == nil {
		text, err = asText(result)
	}
	if err != nil {
		text = err.Error()
	}
	out = appendString(append(out, `{"content":[{"type":"text","text":`...), text)
	out = append(out, `}]`...)
	if err != nil {
		return append(out, `,"isError":true}`...), nil
	}
	return append(out, `,"isError":false}`...), nil
}
