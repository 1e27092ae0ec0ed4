package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"

	plugin "github.com/patchbay-dev/patchbay/sdk/go"
)

// scan is the command: it prints file:line for each line with a secret, and never the secret.
func (v *veil) scan(_ context.Context, c *plugin.CommandCall) error {
	found := 0
	if len(c.Args) == 0 {
		n, err := scanLines(c.Stdout, "stdin", c.Stdin)
		if err != nil {
			return err
		}
		found = n
	}
	for _, path := range c.Args {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		n, err := scanLines(c.Stdout, path, file)
		_ = file.Close() // it was only read
		if err != nil {
			return err
		}
		found += n
	}
	if found > 0 {
		return &plugin.Error{Message: fmt.Sprintf("lines with secrets: %d", found), Code: "SECRETS_FOUND"}
	}
	return nil
}

func scanLines(out io.Writer, name string, in io.Reader) (found int, err error) {
	lines := bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		if _, secrets := hide(lines.Text(), ""); secrets > 0 {
			found++
			if _, err := fmt.Fprintf(out, "%s:%d\n", name, n); err != nil {
				return found, err
			}
		}
	}
	return found, lines.Err()
}
