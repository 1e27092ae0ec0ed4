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
	// connectWait bounds one handshake.
	connectWait = 2 * time.Second
	// pingEvery finds a connection that is dead without having been closed; after the third
	// unanswered one it counts as lost.
	pingEvery, pingsOut = 10 * time.Second, 3
)

// connection is how to connect: everything but who answers is the same for embedded and external
// engines.
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
	// Nothing is kept for later while there is no connection: link.do waits, and knows what may be
	// sent twice.
	opts.ReconnectBufSize = -1
	opts.IgnoreAuthErrorAbort = true // credentials can be mended while we run
	// The connection calls these one after another, in the order of what happened.
	opts.ConnectedCB = func(*nats.Conn) { e.link.connected() }
	opts.DisconnectedErrCB = func(_ *nats.Conn, err error) {
		e.link.lost()
		e.log.Debug("engine: connection lost", "err", err)
	}
	opts.ReconnectedCB = func(*nats.Conn) {
		e.link.connected()
		e.log.Debug("engine: connected again")
		if e.node != nil { // not at once: a server that cannot do without faults is not to be replaced all the time
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

// reconnectDelay begins small, because an owner of a directory that ended is replaced within
// milliseconds, and is random, because everybody lost the same server.
func reconnectDelay(attempts int) time.Duration {
	d := min(10*time.Millisecond<<min(attempts-1, 16), 2*time.Second)
	return d/2 + rand.N(d)
}

// external adds what a server elsewhere wants to see.
func external(opts nats.Options, o Options) (nats.Options, error) {
	for s := range strings.SplitSeq(o.URL, ",") {
		s = strings.TrimSpace(s)
		if err := checkURL(s); err != nil {
			return opts, err
		}
		opts.Servers = append(opts.Servers, s)
	}
	if o.Credentials != "" {
		if _, err := plainfile.Read(o.Credentials, maxPEM); err != nil { // the library would wait for a pipe
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

// checkURL finds what the connection would only fail on later. It never repeats the address: there
// may be a password in it.
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

// maxPEM bounds a file of certificates; the system's own list has some 200 KiB.
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

// tlsConfig is nil where nothing is asked for.
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

// hosts are addresses without their secrets.
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
