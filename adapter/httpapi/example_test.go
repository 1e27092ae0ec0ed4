package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/internal/feature"
)

// flags is a backend of one part.
type flags struct{}

func (flags) List(context.Context) ([]feature.Feature, error) {
	return []feature.Feature{{Name: feature.Plugins, Stage: "experimental"}}, nil
}

func (flags) Get(context.Context, string) (feature.Feature, error) {
	return feature.Feature{}, feature.ErrUnknown
}

func (flags) Set(context.Context, string, bool) (feature.Feature, error) {
	return feature.Feature{}, feature.ErrUnknown
}

// A server around the API. Streams and turns end with the context that the server was given, so
// that Shutdown has nothing to wait for.
func ExampleNew() {
	handler := httpapi.New(httpapi.Options{Backend: httpapi.Backend{Features: flags{}}, Version: "1.0.0"})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()

	resp, err := http.Get("http://" + listener.Addr().String() + "/features/nope")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Status)
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()

	cancel()
	fmt.Println(server.Shutdown(context.Background()), errors.Is(<-done, http.ErrServerClosed))
	// Output:
	// 404 Not Found
	// <nil> true
}

func ExampleCheckListen() {
	fmt.Println(httpapi.CheckListen("127.0.0.1:8000", false))
	fmt.Println(httpapi.CheckListen("0.0.0.0:8000", true))
	fmt.Println(httpapi.CheckListen("0.0.0.0:8000", false))
	// Output:
	// <nil>
	// <nil>
	// other machines can reach "0.0.0.0:8000", and there is no token; set token in [server] of the configuration, or listen on 127.0.0.1
}
