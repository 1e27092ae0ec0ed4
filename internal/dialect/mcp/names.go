package mcp

import "strings"

// longest is how long a name may be: MCP wants ^[A-Za-z0-9_.-]{1,128}$.
const longest = 128

// fullName is the name by which the host knows a tool or prompt of a server.
func fullName(prefix, own string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '.', r == '-':
			return r
		}
		return '_'
	}, prefix+own)
	return name[:min(len(name), longest)]
}
