package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/wire"
)

// Prefixes of the file names of scaffold plugins that do not echo.
const (
	watcherPrefix = "bench-watcher-" // it does not change the payload
	editorPrefix  = "bench-editor-"  // it changes one letter
)

// continued is the answer of a plugin that does not change the payload.
var continued = json.RawMessage(`{"action":"continue"}`)

// scaffoldChild is a plugin of the scaffold dialect. It has the name of its file, so that sixteen
// links are sixteen plugins. The name also says what it does at post_user_input and
// pre_tool_execute: it returns what it got, edits it, or answers only "continue".
func scaffoldChild() error {
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	hooks, answer := `"post_user_input","context_enhance","post_llm_response"`, handBack()
	switch {
	case strings.HasPrefix(name, watcherPrefix):
		answer = func(json.RawMessage) json.RawMessage { return continued }
	case strings.HasPrefix(name, editorPrefix):
		hooks += `,"pre_tool_execute"`
		answer = edited(answer)
	}
	return wire.ServeLent(os.Stdin, os.Stdout, func(method string, params json.RawMessage) (json.RawMessage, error) {
		switch method {
		case "hook/post_user_input", "hook/pre_tool_execute":
			return answer(params), nil
		case "hook/context_enhance", "hook/post_llm_response":
			return continued, nil
		case "initialize":
			return fmt.Appendf(nil, `{"name":%q,"version":"1.0.0","description":"echo","hooks":[%s],"tools":[],"priority":500}`, name, hooks), nil
		case "shutdown":
			return json.RawMessage(`{"ok":true}`), nil
		}
		return nil, &wire.RPCError{Code: -32601, Message: "method not found"}
	})
}

// handBack answers with the fields of the request. It reuses the memory of the reply in each call.
func handBack() func(json.RawMessage) json.RawMessage {
	var reply []byte
	return func(params json.RawMessage) json.RawMessage {
		reply = append(append(reply[:0], `{"action":"continue",`...), params[1:]...)
		return reply
	}
}

// edited changes the last letter of an answer.
func edited(answer func(json.RawMessage) json.RawMessage) func(json.RawMessage) json.RawMessage {
	return func(params json.RawMessage) json.RawMessage { return editLast(answer(params)) }
}

// editLast changes the last letter of the text at the end of a JSON object. The object may itself
// be inside a string. The host must read both texts to the end before it knows that they differ.
func editLast(object []byte) []byte {
	if i := bytes.LastIndexFunc(object, func(r rune) bool { return !strings.ContainsRune(`\"}`, r) }); i >= 0 {
		object[i] = '!'
	}
	return object
}

// scaffoldHome makes a directory that holds n scaffold plugins that echo.
func scaffoldHome(dir string, n int) error { return scaffoldPlugins(dir, scaffoldPrefix, n) }

// scaffoldPlugins makes a directory that holds n scaffold plugins, each a link to this program. The
// prefix of their names says what they do.
func scaffoldPlugins(dir, prefix string, n int) error {
	plugins := filepath.Join(dir, "plugins")
	if err := os.MkdirAll(plugins, 0o700); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for i := range n {
		if err := linkOrCopy(self, filepath.Join(plugins, fmt.Sprintf("%s%02d", prefix, i))); err != nil {
			return err
		}
	}
	return nil
}

// linkOrCopy links a program to a second name, or copies it if the temporary directory is on
// another disk.
func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	return copyProgram(from, to)
}
