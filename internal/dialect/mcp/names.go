package mcp

import "strings"

// longest is the longest name that MCP allows: ^[A-Za-z0-9_.-]{1,128}$.
const longest = 128

// fullName returns the host's name for a tool or a prompt of a server.
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
