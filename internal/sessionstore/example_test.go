package sessionstore_test

import (
	"context"
	"fmt"
	"os"

	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/session"
	"github.com/patchbay-dev/patchbay/internal/sessionstore"
)

// A turn writes to a session. A second turn that begins meanwhile gets an error.
func ExampleStore_Begin() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "sessions")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	e, err := engine.Open(ctx, engine.Options{Dir: dir})
	if err != nil {
		panic(err)
	}
	defer e.Close()

	store := sessionstore.New(e)
	made, err := store.Create(ctx, session.Session{WorkingDir: "/src"})
	if err != nil {
		panic(err)
	}
	turn, err := store.Begin(ctx, made.ID, sessionstore.BeginOptions{})
	if err != nil {
		panic(err)
	}
	if err := turn.Append(ctx, model.Message{Role: model.User, Content: "hello"}); err != nil {
		panic(err)
	}
	_, err = store.Begin(ctx, made.ID, sessionstore.BeginOptions{})
	fmt.Printf("%T\n", err)

	if err := turn.End(ctx, session.Done); err != nil {
		panic(err)
	}
	entries, err := store.Transcript(ctx, made.ID)
	for _, entry := range entries {
		fmt.Println(entry.Status, entry.Message)
	}
	fmt.Println(err)
	// Output:
	// *session.BusyError
	// began <nil>
	//  &{user hello []   false}
	// done <nil>
	// <nil>
}
