package engine

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

const (
	// connectWait limits one handshake.
	connectWait = 2 * time.Second
	// pingEvery is how often a ping is sent, to find a connection that is dead but not closed. It
	// counts as lost after the third ping without an answer.
	pingEvery, pingsOut = 10 * time.Second, 3
)

// connection returns the options of the connection. Only the server's address differs between
// embedded and external engines.
func (e *Engine) connection(o Options) (nats.Options, error) {
	opts := nats.GetDefaultOptions()
	opts.Name = o.Name
	if opts.Name == "" {
		opts.Name = "patchbay"
	}
	opts.Timeout = connectWait
	opts.PingInterval, opts.MaxPingsOut = pingEvery, pingsOut
	opts.MaxReconnect = -1
	opts.CustomReconnectDelayCB = reconnectDelay
	// Nothing is buffered while there is no connection: link.do waits, and knows which requests may
	// be sent twice.
	opts.ReconnectBufSize = -1
	opts.IgnoreAuthErrorAbort = true // the user can replace credentials while the program runs
	// The connection calls these functions one after another, in the order of the events.
	opts.ConnectedCB = func(*nats.Conn) { e.link.connected() }
	opts.DisconnectedErrCB = func(_ *nats.Conn, err error) {
		e.link.lost()
		e.log.Debug("engine: connection lost", "err", err)
	}
	opts.ReconnectedCB = func(*nats.Conn) {
		e.link.connected()
		e.log.Debug("engine: connected again")
		if e.node != nil { // not at once: a server that fails again and again must not be replaced all the time
			time.AfterFunc(lastPause, e.node.faults.remind)
		}
	}
	opts.AsyncErrorCB = func(_ *nats.Conn, _ *nats.Subscription, err error) {
		e.log.Warn("engine: connection", "err", err)
	}
	if e.node != nil {
		opts.Servers, opts.CustomDialer, opts.SkipHostLookup = []string{"nats://embedded"}, e.node, true
		return opts, nil
	}
	return external(opts, o)
}

// reconnectDelay starts small, because another process becomes the owner of a directory within
// milliseconds. It is random, because all clients lost the same server.
func reconnectDelay(attempts int) time.Duration {
	d := min(10*time.Millisecond<<min(attempts-1, 16), 2*time.Second)
	return d/2 + rand.N(d)
}

// external adds the options for a server at a URL.
func external(opts nats.Options, o Options) (nats.Options, error) {
	for s := range strings.SplitSeq(o.URL, ",") {
		s = strings.TrimSpace(s)
		if err := checkURL(s); err != nil {
			return opts, err
		}
		opts.Servers = append(opts.Servers, s)
	}
	if o.Credentials != "" {
		if _, err := plainfile.Read(o.Credentials, maxPEM); err != nil { // the library would block on a pipe
			return opts, fmt.Errorf("engine credentials: %w", err)
		}
		if err := nats.UserCredentials(o.Credentials)(&opts); err != nil {
			return opts, fmt.Errorf("engine credentials: %w", err)
		}
	}
	conf, err := tlsConfig(o.TLS)
	if err != nil {
		return opts, fmt.Errorf("engine tls: %w", err)
	}
	if conf != nil {
		opts.Secure, opts.TLSConfig = true, conf
	}
	return opts, nil
}

// checkURL finds mistakes that would otherwise fail only when connecting. It never repeats the
// address, which may contain a password.
func checkURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return errors.New("engine url: want nats://HOST:PORT, or several with commas")
	}
	switch u.Scheme {
	case "nats", "tls", "ws", "wss":
		return nil
	}
	return fmt.Errorf("engine url: scheme %.20q: want nats, tls, ws or wss", u.Scheme)
}

// maxPEM limits a file of certificates; the system's own list has about 200 KiB.
const maxPEM = 4 << 20

// keyPair reads a certificate and its key.
func keyPair(cert, key string) (tls.Certificate, error) {
	certPEM, err := plainfile.Read(cert, maxPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	keyPEM, err := plainfile.Read(key, maxPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(certPEM, keyPEM)
}

// tlsConfig returns nil if no option is set.
func tlsConfig(o TLS) (*tls.Config, error) {
	if o == (TLS{}) {
		return nil, nil
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CA != "" {
		pem, err := plainfile.Read(o.CA, maxPEM)
		if err != nil {
			return nil, err
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s: no certificates in it", o.CA)
		}
	}
	if o.Cert != "" || o.Key != "" {
		cert, err := keyPair(o.Cert, o.Key)
		if err != nil {
			return nil, err
		}
		conf.Certificates = []tls.Certificate{cert}
	}
	return conf, nil
}

// hosts returns addresses without their secrets.
func hosts(servers []string) string {
	names := make([]string, len(servers))
	for i, s := range servers {
		names[i] = "?"
		if u, err := url.Parse(s); err == nil {
			names[i] = u.Scheme + "://" + u.Host
		}
	}
	return strings.Join(names, ",")
}
