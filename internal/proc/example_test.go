//go:build unix

package proc_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// A process per call: the payload goes in, the answer comes out.
func ExampleGroup_Run() {
	g := proc.NewGroup(nil)
	defer g.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	result, err := g.Run(ctx, proc.Spec{Path: "/bin/cat"}, proc.Call{Stdin: []byte(`{"kind":"sink"}`), Grace: 5 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s, %v\n", result.Stdout, result.Exit)
	// Output: {"kind":"sink"}, exit code 0
}

// A long-lived process ends when its stdin is closed.
func ExampleGroup_Start() {
	g := proc.NewGroup(nil)
	defer g.Close()
	p, err := g.Start(context.Background(), proc.Spec{Path: "/bin/cat"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Fprintln(p.Stdin(), "ping")
	line, _ := bufio.NewReader(p.Stdout()).ReadString('\n')
	fmt.Print(line)
	fmt.Println(p.Stop(context.Background(), proc.Ladder{Stdin: time.Minute}))
	// Output:
	// ping
	// exit code 0
}

// A StartError says what is wrong with a program, and how to fix it.
func ExampleGroup_Start_refused() {
	g := proc.NewGroup(nil)
	defer g.Close()
	_, err := g.Start(context.Background(), proc.Spec{Path: "/nonexistent/plugin"})
	var se *program.StartError
	if errors.As(err, &se) {
		fmt.Println(se)
		fmt.Println(se.Fix)
	}
	// Output:
	// cannot start /nonexistent/plugin: no such file
	// reinstall the plugin
}
