package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/daemonaccess"
)

// CheckListen refuses an address that other machines can reach if there is no token. It also
// refuses a text that is not HOST:PORT, such as unix:PATH, which other programs accept.
func CheckListen(addr string, token bool) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || strings.Contains(port, "/") { // a Unix socket, as other programs write it
		return fmt.Errorf("listen address %s: want HOST:PORT, such as 127.0.0.1:8000", quote(addr))
	}
	if token || isLoopback(host) {
		return nil
	}
	return openToAll{addr}
}

// openToAll is the error for an address that other machines can reach without a token.
type openToAll struct{ addr string }

func (e openToAll) Error() string {
	return fmt.Sprintf("other machines can reach %s, and %v; %s", quote(e.addr), ErrNoToken, e.Fix())
}

func (openToAll) Unwrap() error { return ErrNoToken }

// Fix returns how to fix it.
func (openToAll) Fix() string {
	return "set token in [server] of the configuration, or listen on 127.0.0.1"
}

// ErrNoToken is the error for an address that other machines can reach without a token.
var ErrNoToken = errors.New("there is no token")

// isLoopback reports whether a name or address means only this machine. Other names are not looked
// up, because their address can change.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// A gate decides which requests are allowed. A page of another origin must not be able to write a
// plugin or run a turn, and browsers send requests of any page to any address. So each of these is
// checked for every request:
//
//   - Host: against a foreign name that resolves to this machine (DNS rebinding);
//   - Origin, Sec-Fetch-Site: against pages of other origins, as the browser reports them;
//   - Content-Type: against requests that a page may send without asking (forms, text, blobs);
//   - the token if one is set, else the calling process: through the API, a plugin in a sandbox
//     could run code outside of it.
//
// No answer ever has Access-Control-Allow-Origin. Without it, browsers let no page of another
// origin read the answer.
type gate struct {
	locked bool
	token  [sha256.Size]byte // the hash of the token: all hashes have the same length, so that comparing leaks nothing
	hosts  map[string]bool   // in lower case

	caller   func(local, remote netip.AddrPort) error // returns why the calling process is refused, or nil
	loggedAt atomic.Int64                             // the second in which a refusal was last logged
	log      *slog.Logger
}

func newGate(token config.Secret, hosts []string, log *slog.Logger) *gate {
	g := &gate{caller: daemonaccess.Caller, log: log, locked: !token.Empty(), token: sha256.Sum256([]byte(token.Reveal())), hosts: make(map[string]bool)}
	for _, h := range hosts {
		g.hosts[strings.ToLower(h)] = true
	}
	return g
}

// check returns nil if a request is allowed.
func (g *gate) check(r *http.Request) *problem {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	socket := local != nil && local.Network() == "unix"
	switch {
	case !socket && !g.knowsHost(r.Host, local):
		return &problem{http.StatusForbidden, "Host not allowed: " + quote(r.Host) + ". Use the address that the server listens on."}
	case !g.ownOrigin(r):
		return &problem{http.StatusForbidden, "Origin not allowed: " + quote(r.Header.Get("Origin")) + ". Pages of other origins may not call this server."}
	case crossSite(r):
		return &problem{http.StatusForbidden, "Cross-site request refused. Pages of other origins may not call this server."}
	case !socket && g.locked && !g.authorized(r):
		return &problem{http.StatusUnauthorized, detailNoToken}
	case !socket && !g.locked:
		if p := g.checkCaller(r); p != nil {
			return p
		}
	}
	if !jsonOrNothing(r) {
		return &problem{http.StatusUnsupportedMediaType, "Content-Type must be application/json."}
	}
	return nil
}

// knowsHost reports whether a request names one of our hosts, with the port of the connection. Our
// own addresses are always allowed, because rebinding needs a name.
func (g *gate) knowsHost(hostport string, local net.Addr) bool {
	hostport = strings.ToLower(hostport)
	if g.hosts[hostport] {
		return true
	}
	tcp, ok := local.(*net.TCPAddr)
	if !ok {
		return false
	}
	host, port, err := net.SplitHostPort(hostport)
	if err != nil { // no port: the default of the scheme
		host, port = strings.Trim(hostport, "[]"), "80"
	}
	if port != strconv.Itoa(tcp.Port) {
		return false
	}
	return isLoopback(host) || g.hosts[host] || host == tcp.AddrPort().Addr().Unmap().String()
}

// ownOrigin reports whether a request has no Origin, or ours. `null`, the origin of sandboxed
// frames and files, is refused. A configured name may be served by a proxy with TLS.
func (g *gate) ownOrigin(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	origin, host := strings.ToLower(origins[0]), strings.ToLower(r.Host)
	switch {
	case len(origins) > 1:
		return false
	case r.TLS != nil || g.hosts[host]:
		return origin == "https://"+host || r.TLS == nil && origin == "http://"+host
	}
	return origin == "http://"+host
}

// crossSite reports whether the browser says that another site caused a request. Links on other
// sites are allowed, because the page with the link cannot see the answer.
func crossSite(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return false
	}
	link := isRead(r.Method) && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	return !link
}

func isRead(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// authorized accepts the token as a bearer token, or as the password of HTTP Basic, for which
// browsers can ask.
func (g *gate) authorized(r *http.Request) bool {
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		_, given, _ = r.BasicAuth()
	}
	sum := sha256.Sum256([]byte(strings.TrimSpace(given)))
	return subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1
}

// jsonOrNothing reports whether a request has no body, or one that is declared as JSON. Forms are
// refused. `curl -X POST` without data sends neither body nor type.
func jsonOrNothing(r *http.Request) bool {
	types := r.Header.Values("Content-Type")
	if len(types) == 0 {
		return r.ContentLength == 0
	}
	kind, _, err := mime.ParseMediaType(types[0])
	return err == nil && kind == "application/json" && len(types) == 1
}
