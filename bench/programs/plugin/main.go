// Command plugin is a small plugin of the scaffold dialect, as an author would write it in Go with
// the standard library.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

type request struct {
	Method string `json:"method"`
	ID     int    `json:"id"`
}

func main() {
	name := filepath.Base(os.Args[0])
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			os.Exit(1)
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%d,"result":%s}`+"\n", r.ID, answer(r.Method, name))
	}
}

func answer(method, name string) string {
	switch method {
	case "initialize":
		hook := "post_user_input"
		if name == "guard" {
			hook = "pre_tool_execute"
		}
		return fmt.Sprintf(`{"name":%q,"version":"1.0.0","description":"does nothing","hooks":[%q],"tools":[],"priority":500}`, name, hook)
	case "shutdown":
		return `{"ok":true}`
	}
	return `{"action":"continue"}`
}
