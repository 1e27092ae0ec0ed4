package patchbay_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/patchbay-dev/patchbay"
	"github.com/patchbay-dev/patchbay/hook"
)

// shout is a scaffold plugin in a few lines of shell. Its usual place is ~/.local/scaffold/plugins.
const shout = `#!/bin/sh
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\)}$/\1/')
  case "$line" in
  *'"method":"initialize"'*) result='{"name":"shout","hooks":["post_user_input"],"tools":[{"name":"twice","description":"Says it twice"}]}' ;;
  *'"method":"hook/post_user_input"'*)
    message=$(printf '%s' "$line" | sed 's/.*"message":"\([^"]*\)".*/\1/' | tr a-z A-Z)
    result='{"action":"continue","message":"'$message'"}' ;;
  *'"method":"tool/execute"'*)
    word=$(printf '%s' "$line" | sed 's/.*"word":"\([^"]*\)".*/\1/')
    result='{"success":true,"result":"'$word' '$word'"}' ;;
  *) result='{"ok":true}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
`

// exampleHome returns options for a home directory with the plugin shout.
func exampleHome() (options *patchbay.Options, remove func()) {
	home, err := os.MkdirTemp("", "patchbay-example-")
	if err != nil {
		log.Fatal(err)
	}
	dir := filepath.Join(home, ".local", "scaffold", "plugins")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "shout"), []byte(shout), 0o700); err != nil {
		log.Fatal(err)
	}
	environ := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	return &patchbay.Options{Environ: environ, Dir: home}, func() { os.RemoveAll(home) }
}

func Example() {
	options, remove := exampleHome() // nil options read the configuration and search the default places
	defer remove()
	ctx := context.Background()

	host, err := patchbay.Open(ctx, options)
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close()
	out, err := host.Fire(ctx, hook.TurnInput, map[string]string{"message": "hello"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Verdict, string(out.Payload))
	// Output: continue {"message":"HELLO"}
}

func ExampleHost_Fire() {
	options, remove := exampleHome()
	defer remove()
	host, err := patchbay.Open(context.Background(), options)
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close()

	out, err := host.Fire(context.Background(), hook.TurnInput, map[string]string{"message": "who did this?"})
	if err != nil {
		log.Fatal(err)
	}
	for _, step := range out.Steps {
		for _, change := range step.Diff() {
			fmt.Printf("%s %s: %s became %s\n", step.Plugin, change.Path, change.Old, change.New)
		}
	}
	// Output: shout /message: "who did this?" became "WHO DID THIS?"
}

func ExampleHost_CallTool() {
	options, remove := exampleHome()
	defer remove()
	host, err := patchbay.Open(context.Background(), options)
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close()

	result, err := host.CallTool(context.Background(), "plugin_shout_twice", map[string]string{"word": "echo"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Success, result.Result)
	// Output: true echo echo
}

func ExampleHost_Plugins() {
	options, remove := exampleHome()
	defer remove()
	host, err := patchbay.Open(context.Background(), options)
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close()

	for _, p := range host.Plugins() {
		fmt.Println(p.Name, p.Dialect, p.State, p.Hooks, p.Tools)
	}
	// Output: shout scaffold ready [post_user_input] [plugin_shout_twice]
}

// The names of the protocols, for Options.Dialects.
func ExampleDialects() {
	fmt.Println(patchbay.Dialects())
	// Output: [dotagent mine kaged python mcp scaffold]
}
