package mcp

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/mcpcall"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A paramHeader is an argument of a tool that the server also wants in a header, so that proxies
// can route by it.
type paramHeader struct {
	path []string // of the argument
	name string   // follows Mcp-Param-
}

// paramHeaders returns the headers that a tool's schema declares for its arguments.
func paramHeaders(schema json.RawMessage) []paramHeader {
	return headersBelow(nil, schema, 0)
}

func headersBelow(path []string, schema json.RawMessage, depth int) []paramHeader {
	o, err := rawjson.Parse(schema)
	if err != nil || depth > 16 {
		return nil
	}
	properties, err := rawjson.Parse(o.Get("properties"))
	if err != nil {
		return nil
	}
	var out []paramHeader
	for _, f := range properties {
		one, err := rawjson.Parse(f.Value)
		if err != nil {
			continue
		}
		here := append(append([]string(nil), path...), f.Name)
		if name, ok := one.String("x-mcp-header"); ok && isToken(name) {
			out = append(out, paramHeader{here, name})
		}
		out = append(out, headersBelow(here, f.Value, depth+1)...)
	}
	return out
}

// isToken reports whether a text may be in the name of a header.
func isToken(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	}) < 0
}

// modernHeader adds method, name and arguments of a request to its header.
func (w *web) modernHeader(h map[string]string, method string, params json.RawMessage) {
	h["MCP-Protocol-Version"] = mcpcall.Modern
	if method == "" {
		return
	}
	h["Mcp-Method"] = method
	o, err := rawjson.Parse(params)
	if err != nil {
		return
	}
	key := map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}[method]
	if name, ok := o.String(key); ok && key != "" {
		h["Mcp-Name"] = headerText(name)
	}
	if method != "tools/call" {
		return
	}
	name, _ := o.String("name")
	for _, p := range w.address.plugin.lists.Load().headers[name] {
		if text, ok := argument(o.Get("arguments"), p.path); ok {
			h["Mcp-Param-"+p.name] = headerText(text)
		}
	}
}

// argument returns an argument that is a string, a number or a boolean, as text.
func argument(arguments json.RawMessage, path []string) (string, bool) {
	value := arguments
	for _, name := range path {
		o, err := rawjson.Parse(value)
		if err != nil {
			return "", false
		}
		value = o.Get(name)
	}
	if text, ok := rawjson.Unquote(value); ok {
		return text, true
	}
	if len(value) == 0 || strings.ContainsRune("{[n", rune(value[0])) {
		return "", false
	}
	return string(value), true
}

// headerText encodes a text for a header. Text that is not plain ASCII is encoded in base64.
func headerText(s string) string {
	plain := s == strings.TrimSpace(s) && !strings.HasPrefix(s, "=?base64?") &&
		strings.IndexFunc(s, func(r rune) bool { return (r < ' ' && r != '\t') || r > '~' }) < 0
	if plain {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}
