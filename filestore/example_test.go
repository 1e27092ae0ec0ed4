package filestore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/patchbay-dev/patchbay"
	"github.com/patchbay-dev/patchbay/filestore"
)

func Example() {
	dir, err := os.MkdirTemp("", "filestore-example-") // in real life a directory of your program's data
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store := filestore.New(dir)

	ctx := context.Background()
	host, err := patchbay.Open(ctx, &patchbay.Options{
		Dirs:    []string{}, // the directories of your plugins; the example needs none
		Storage: store.Plugin,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close()

	// The program can read and change the values of the plugin "notes".
	notes := store.Plugin("notes", patchbay.StorageQuota{})
	if err := notes.Put(ctx, "todo/1", json.RawMessage(`{"text":"water the garden"}`)); err != nil {
		log.Fatal(err)
	}
	keys, err := notes.List(ctx, "todo/")
	if err != nil {
		log.Fatal(err)
	}
	value, ok, err := notes.Get(ctx, "todo/1")
	fmt.Println(keys, string(value), ok, err)
	// Output: [todo/1] {"text":"water the garden"} true <nil>
}

// A program that sets quotas of its own wraps Plugin in a function.
func ExampleStore_Plugin() {
	store := filestore.New("data/plugins")
	options := &patchbay.Options{
		Storage: func(plugin string, _ patchbay.StorageQuota) patchbay.Storage {
			return store.Plugin(plugin, patchbay.StorageQuota{Bytes: 1 << 30, Keys: 100_000})
		},
	}
	fmt.Println(options.Storage != nil)
	// Output: true
}
