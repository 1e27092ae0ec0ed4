package mcpcall

import (
	"context"
	"io"
)

// A Remote makes clients for servers at an address. It is handed in by programs that have an HTTP
// client: linking one takes 4 MB, which programs that embed Patchbay do without.
type Remote func() Client

// A Client makes requests over HTTP. It follows no redirects.
type Client interface {
	Do(ctx context.Context, r Request) (*Response, error)
	Close() // of idle connections
}

// A Request is one over HTTP.
type Request struct {
	Method, URL string
	Header      map[string]string
	Body        []byte
}

// A Response is the answer. The caller closes its body.
type Response struct {
	Status int
	Header func(name string) string
	Body   io.ReadCloser
}
