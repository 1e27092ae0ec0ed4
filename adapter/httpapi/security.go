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
	"github.com/patchbay-dev/patchbay/internal/doors"
)

// CheckListen refuses an address that others can reach unless there is a token. A path of a unix
// socket is written unix:PATH; the file's mode guards it.
func CheckListen(addr string, token bool) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || strings.Contains(port, "/") { // a Unix socket, as other programs write it
		return fmt.Errorf("listen address %s: want HOST:PORT, such as 127.0.0.1:8000", quote(addr))
	}
	if token || isLoopback(host) {
		return nil
	}
	return fmt.Errorf("listening on %s lets other machines in, and %w: "+
		"set token in [server] of the configuration, or listen on 127.0.0.1", quote(addr), ErrNoToken)
}

// ErrNoToken is the error of an address that others can reach, without a token to keep them out.
var ErrNoToken = errors.New("there is no token")

// isLoopback knows names and addresses that mean this machine alone. Other names are not looked up:
// what they mean can change.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// A gate decides who comes in. A page of another origin must not be able to write a plugin or run a
// turn, and browsers send requests for any page to any address, so each of these is checked for
// every request:
//
//   - Host: against a foreign name that was made to point here (DNS rebinding);
//   - Origin, Sec-Fetch-Site: against pages that do not hide that they are foreign;
//   - Content-Type: against what a page may send without asking (forms, text, blobs);
//   - the token, where one is set; else the caller's process: a plugin in a sandbox could have its code run outside of it.
//
// No answer ever has Access-Control-Allow-Origin, so that no page of another origin may read it.
type gate struct {
	locked bool
	token  [sha256.Size]byte // of the token: equal lengths, and nothing to leak
	hosts  map[string]bool   // in lower case

	caller func(local, remote netip.AddrPort) error // why the process at the other end is refused
	told   atomic.Int64                             // the second in which that was last logged
	log    *slog.Logger
}

func newGate(token config.Secret, hosts []string, log *slog.Logger) *gate {
	g := &gate{caller: doors.Caller, log: log, locked: !token.Empty(), token: sha256.Sum256([]byte(token.Reveal())), hosts: make(map[string]bool)}
	for _, h := range hosts {
		g.hosts[strings.ToLower(h)] = true
	}
	return g
}

// check returns nil for a request that may come in.
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
		return &problem{http.StatusUnauthorized, "A token is needed: Authorization: Bearer TOKEN, as in [server] of the configuration."}
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

// knowsHost wants one of our names, with the port that the connection came in by. An address of our
// own needs no list: rebinding needs a name.
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
	if err != nil { // no port: the scheme's own
		host, port = strings.Trim(hostport, "[]"), "80"
	}
	if port != strconv.Itoa(tcp.Port) {
		return false
	}
	return isLoopback(host) || g.hosts[host] || host == tcp.AddrPort().Addr().Unmap().String()
}

// ownOrigin: no Origin at all, or ours. `null`, which sandboxed frames and files have, is nobody's.
// A name that was configured may be served by a proxy that speaks TLS.
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

// crossSite believes the browser where it says that another page is behind a request. A person who
// follows a link from elsewhere is let in: the page that has the link cannot see what comes.
func crossSite(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return false
	}
	link := isRead(r.Method) && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	return !link
}

func isRead(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// authorized takes the token as a bearer's, or as the password of HTTP Basic, which is what
// browsers can ask a person for.
func (g *gate) authorized(r *http.Request) bool {
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		_, given, _ = r.BasicAuth()
	}
	sum := sha256.Sum256([]byte(strings.TrimSpace(given)))
	return subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1
}

// jsonOrNothing: a body must be JSON and say so, and nothing may pretend to be a form. `curl -X
// POST` without data sends neither body nor type.
func jsonOrNothing(r *http.Request) bool {
	types := r.Header.Values("Content-Type")
	if len(types) == 0 {
		return r.ContentLength == 0
	}
	kind, _, err := mime.ParseMediaType(types[0])
	return err == nil && kind == "application/json" && len(types) == 1
}
