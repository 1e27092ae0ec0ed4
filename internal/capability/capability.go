package capability

import (
	"errors"
	"fmt"
	"net/netip"
	"path"
	"strconv"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/schema"
)

// A Kind is the kind of a capability: one row of the table in docs/protocols/kaged.md,
// "Capabilities" (row K40).
type Kind string

// The kinds.
const (
	ReadFS       Kind = "read:fs"             // read:fs:<path>
	WriteFS      Kind = "write:fs"            // write:fs:<path>
	Exec         Kind = "exec"                // exec:<binary>:<path>
	NetHost      Kind = "net"                 // net:<host>:<port>, net:<host>:*
	NetAny       Kind = "net:*"               // unrestricted
	NetNone      Kind = "net:[]"              // explicitly none
	StorageRead  Kind = "kaged:storage:read"  // of the plugin's own storage
	StorageWrite Kind = "kaged:storage:write" // the same, for writing
)

// A Capability is one resource that a plugin needs. Fields that do not belong to its kind are
// empty.
type Capability struct {
	Kind    Kind
	Path    string // ReadFS, WriteFS, Exec: absolute and clean
	Binary  string // Exec: the name the plugin calls it by
	Host    string // NetHost: a DNS name in lower case, or an IP address without brackets
	Port    int    // NetHost: 1 to 65535, unless AnyPort
	AnyPort bool   // NetHost: all ports
}

// String formats the capability as a manifest has it. Parse turns it into the same value again.
func (c Capability) String() string {
	switch c.Kind {
	case ReadFS, WriteFS:
		return string(c.Kind) + ":" + c.Path
	case Exec:
		return "exec:" + c.Binary + ":" + c.Path
	case NetHost:
		return "net:" + c.hostPort()
	default:
		return string(c.Kind)
	}
}

func (c Capability) hostPort() string {
	host, port := c.Host, strconv.Itoa(c.Port)
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if c.AnyPort {
		port = "*"
	}
	return host + ":" + port
}

// Network reports whether c is about the network. It is true for NetNone, too.
func (c Capability) Network() bool {
	return c.Kind == NetHost || c.Kind == NetAny || c.Kind == NetNone
}

// Parse parses one capability of a manifest.
func Parse(s string) (Capability, error) {
	switch kind := Kind(s); kind {
	case NetAny, NetNone, StorageRead, StorageWrite:
		return Capability{Kind: kind}, nil
	}
	c, err := parseGrant(s)
	if err != nil {
		return Capability{}, fmt.Errorf("capability %s: %w", schema.Cite(s), err)
	}
	return c, nil
}

func parseGrant(s string) (Capability, error) {
	subject, rest, _ := strings.Cut(s, ":")
	switch subject {
	case "read", "write":
		return parseFS(Kind(subject+":fs"), rest)
	case "exec":
		return parseExec(rest)
	case "net":
		return parseNet(rest)
	case "kaged":
		return Capability{}, errors.New("expected kaged:storage:read or kaged:storage:write")
	}
	return Capability{}, fmt.Errorf("expected read:fs:<path>, write:fs:<path>, exec:<binary>:<path>, " +
		"net:<host>:<port>, net:<host>:*, net:*, net:[], kaged:storage:read or kaged:storage:write")
}

// parseFS parses the part after "read:" or "write:".
func parseFS(kind Kind, s string) (Capability, error) {
	p, ok := strings.CutPrefix(s, "fs:")
	if !ok {
		return Capability{}, fmt.Errorf("expected %s:<path>", kind)
	}
	p, err := cleanPath(p)
	return Capability{Kind: kind, Path: p}, err
}

func parseExec(s string) (Capability, error) {
	binary, p, ok := strings.Cut(s, ":")
	if !ok || binary == "" || strings.ContainsRune(binary, '/') || !printable(binary) {
		return Capability{}, errors.New("expected exec:<binary>:<path>, the binary by its name alone")
	}
	p, err := cleanPath(p)
	return Capability{Kind: Exec, Binary: binary, Path: p}, err
}

// cleanPath checks that a path is absolute. It drops a slash at the end and refuses any other path
// that is not in its shortest form, so that the text of a grant shows exactly what is granted.
func cleanPath(p string) (string, error) {
	switch {
	case strings.HasPrefix(p, "~"):
		return "", fmt.Errorf("the path must be absolute: ~ is not expanded, so write the whole path, got %s", schema.Cite(p))
	case !path.IsAbs(p):
		return "", fmt.Errorf("the path must be absolute: begin with /, got %s", schema.Cite(p))
	case !printable(p):
		return "", fmt.Errorf("the path has a control character in it: %s", schema.Cite(p))
	}
	if p != "/" {
		p = strings.TrimSuffix(p, "/")
	}
	if clean := path.Clean(p); clean != p {
		return "", fmt.Errorf("the path must have no .., . or empty parts, got %s", schema.Cite(p))
	}
	return p, nil
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f })
}

// parseNet parses the part after "net:", except "*" and "[]".
func parseNet(s string) (Capability, error) {
	host, port, err := splitHostPort(s)
	if err != nil {
		return Capability{}, err
	}
	c := Capability{Kind: NetHost, Host: host}
	if port == "*" {
		c.AnyPort = true
		return c, nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || port[0] == '0' {
		return Capability{}, fmt.Errorf("the port must be a number from 1 to 65535, or *, got %s", schema.Cite(port))
	}
	c.Port = int(n)
	return c, nil
}

var errNetForm = errors.New("expected net:<host>:<port>, net:<host>:*, net:* or net:[]")

func splitHostPort(s string) (host, port string, err error) {
	if rest, ok := strings.CutPrefix(s, "["); ok {
		host, port, ok = strings.Cut(rest, "]:")
		if !ok {
			return "", "", errNetForm
		}
		addr, err := netip.ParseAddr(host)
		if err != nil || !addr.Is6() || addr.Zone() != "" {
			return "", "", fmt.Errorf("%s is not an IPv6 address", schema.Cite(host))
		}
		return addr.String(), port, nil
	}
	host, port, ok := strings.Cut(s, ":")
	switch {
	case !ok:
		return "", "", errNetForm
	case strings.ContainsRune(port, ':'):
		return "", "", errors.New("an IPv6 address must be in brackets: net:[::1]:443")
	}
	host, err = cleanHost(host)
	return host, port, err
}

// cleanHost checks a DNS name or an IPv4 address.
func cleanHost(host string) (string, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.String(), nil
	}
	if strings.ContainsRune(host, '*') {
		return "", errors.New("a host cannot be a pattern; net:* is all of the network")
	}
	host = strings.ToLower(host)
	labels := strings.Split(host, ".")
	bad := len(host) > 253 || isNumber(labels[len(labels)-1]) // RFC 1123: the last label of a name is not all digits
	for _, l := range labels {
		bad = bad || !isLabel(l)
	}
	if bad {
		return "", fmt.Errorf("%s is neither a host name nor an IP address", schema.Cite(host))
	}
	return host, nil
}

// isLabel reports whether s is one label of a DNS name: at most 63 letters, digits and inner
// hyphens (RFC 1123), and underscores, which occur in real names.
func isLabel(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

func isNumber(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}
