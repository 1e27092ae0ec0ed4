package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/adapter/chat/builtin"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// A tool is called with its session and with JSON as arguments.
func ExampleTools() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	for _, tool := range builtin.Tools(builtin.Options{}) {
		if tool.Name != "write_file" {
			continue
		}
		result, err := tool.Run(context.Background(), chat.Call{
			Session:   session.Session{WorkingDir: dir},
			Arguments: json.RawMessage(`{"path": "notes/today.md", "content": "- water the plants\n"}`),
			Progress:  func(string) {},
		})
		fmt.Print(result.Output, result.Success, err)
	}
	// Output:
	// made notes/today.md: 1 line, 19 bytes
	// true <nil>
}
