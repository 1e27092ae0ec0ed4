package rawjson_test

import (
	"fmt"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// One field of a payload is changed; the others are passed on unchanged.
func ExampleParse() {
	event, err := rawjson.Parse([]byte(`{"tool": "shell", "arguments": {"cmd": "ls"}, "n": 1.50}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	tool, _ := event.String("tool")
	fmt.Println(tool, string(event.Get("arguments")))
	fmt.Println(string(event.With(rawjson.Field{Name: "tool", Value: rawjson.String("echo")}).JSON()))
	// Output:
	// shell {"cmd":"ls"}
	// {"tool":"echo","arguments":{"cmd":"ls"},"n":1.50}
}

// A plugin may leave a field out, or write null.
func ExampleMissing() {
	for _, text := range []string{`{}`, `{"reason":null}`, `{"reason":""}`} {
		reply, _ := rawjson.Parse([]byte(text))
		fmt.Println(rawjson.Missing(reply.Get("reason")))
	}
	// Output:
	// true
	// true
	// false
}
