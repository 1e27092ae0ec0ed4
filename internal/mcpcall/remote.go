package mcpcall

import (
	"context"
	"io"
)

// A Remote makes clients for servers at an address. Programs that have an HTTP client pass one;
// programs that embed Patchbay need not link one, which saves 4 MB.
type Remote func() Client

// A Client sends requests over HTTP. It follows no redirects.
type Client interface {
	Do(ctx context.Context, r Request) (*Response, error)
	Close() // closes idle connections
}

// A Request is an HTTP request.
type Request struct {
	Method, URL string
	Header      map[string]string
	Body        []byte
}

// A Response is an HTTP response. The caller closes its body.
type Response struct {
	Status int
	Header func(name string) string
	Body   io.ReadCloser
}
