// Package mcphttp is the HTTP client for MCP servers at an address. It is separate from the MCP
// dialect, so that programs which embed Patchbay need not link it.
package mcphttp

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/patchbay-dev/patchbay/internal/mcpcall"
)

// New returns a client.
func New() mcpcall.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	return &client{http.Client{Transport: transport,
		// No redirects: the header may contain a secret for the named server only.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

type client struct{ http http.Client }

// Do sends a request. Its errors do not contain the address, which may contain a secret.
func (c *client) Do(ctx context.Context, r mcpcall.Request) (*mcpcall.Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}
	resp, err := c.http.Do(req) //nolint:bodyclose // the caller closes it, as Body of the response
	if at, ok := errors.AsType[*url.Error](err); ok {
		return nil, at.Err
	}
	if err != nil {
		return nil, err
	}
	return &mcpcall.Response{Status: resp.StatusCode, Header: resp.Header.Get, Body: resp.Body}, nil
}

// Close closes idle connections.
func (c *client) Close() { c.http.CloseIdleConnections() }
