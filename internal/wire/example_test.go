package wire_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/patchbay-dev/patchbay/internal/wire"
)

// Host and plugin in one process, over the same kind of pipes as between two.
func Example() {
	pluginIn, hostOut, _ := os.Pipe()
	hostIn, pluginOut, _ := os.Pipe()
	done := make(chan error)
	go func() { // the plugin
		done <- wire.Serve(pluginIn, pluginOut, func(method string, params json.RawMessage) (json.RawMessage, error) {
			if method != "hook/post_user_input" {
				return nil, &wire.RPCError{Code: -32601, Message: "Unknown method"}
			}
			return params, nil
		})
	}()

	host := wire.NewSerial(hostIn, hostOut, wire.Options{})
	reply, err := host.Call(context.Background(), "hook/post_user_input", []byte(`{"message":"hello"}`))
	fmt.Println(string(reply), err)
	_, err = host.Call(context.Background(), "hook/unheard_of", nil)
	fmt.Println(err)
	_ = host.Close()
	fmt.Println(<-done)
	// Output:
	// {"message":"hello"} <nil>
	// answered with error -32601: "Unknown method"
	// <nil>
}
