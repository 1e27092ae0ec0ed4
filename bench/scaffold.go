package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/wire"
)

// scaffoldChild is a plugin of the scaffold dialect that hooks post_user_input and hands the message
// back as it came. Its name is its file's, so that sixteen links are sixteen plugins.
func scaffoldChild() error {
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	var reply []byte // used again for each call
	return wire.ServeLent(os.Stdin, os.Stdout, func(method string, params json.RawMessage) (json.RawMessage, error) {
		switch method {
		case "hook/post_user_input":
			reply = append(append(reply[:0], `{"action":"continue",`...), params[1:]...)
			return reply, nil
		case "hook/context_enhance", "hook/post_llm_response":
			return json.RawMessage(`{"action":"continue"}`), nil
		case "initialize":
			return fmt.Appendf(nil, `{"name":%q,"version":"1.0.0","description":"echo","hooks":["post_user_input","context_enhance","post_llm_response"],"tools":[],"priority":500}`, name), nil
		case "shutdown":
			return json.RawMessage(`{"ok":true}`), nil
		}
		return nil, &wire.RPCError{Code: -32601, Message: "method not found"}
	})
}

// scaffoldHome makes a directory that holds n scaffold plugins, each a link to this program.
func scaffoldHome(dir string, n int) error {
	plugins := filepath.Join(dir, "plugins")
	if err := os.MkdirAll(plugins, 0o700); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for i := range n {
		if err := linkOrCopy(self, filepath.Join(plugins, fmt.Sprintf("%s%02d", scaffoldPrefix, i))); err != nil {
			return err
		}
	}
	return nil
}

// linkOrCopy makes a second name for a program; a copy where the temporary directory lies on another disk.
func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	program, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, program, 0o700)
}
