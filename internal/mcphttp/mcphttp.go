// Package mcphttp is the HTTP client with which MCP servers at an address are reached. It is apart
// from the dialect so that programs which embed Patchbay need not link it.
package mcphttp

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/patchbay-dev/patchbay/internal/mcpcall"
)

// New makes a client.
func New() mcpcall.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	return &client{http.Client{Transport: transport,
		// What is sent may have a secret in its header, which is for the server that was named.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

type client struct{ http http.Client }

// Do makes a request. Its errors do not repeat the address, which may hold a secret.
func (c *client) Do(ctx context.Context, r mcpcall.Request) (*mcpcall.Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}
	resp, err := c.http.Do(req)
	if at, ok := errors.AsType[*url.Error](err); ok {
		return nil, at.Err
	}
	if err != nil {
		return nil, err
	}
	return &mcpcall.Response{Status: resp.StatusCode, Header: resp.Header.Get, Body: resp.Body}, nil
}

// Close closes connections that nobody uses.
func (c *client) Close() { c.http.CloseIdleConnections() }
