// Command embed is the smallest program with plugins: it sends each line of its stdin through every
// plugin on this machine, and prints the results.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"

	"github.com/patchbay-dev/patchbay"
	"github.com/patchbay-dev/patchbay/hook"
)

func main() {
	ctx := context.Background()
	host, err := patchbay.Open(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close()

	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		out, err := host.Fire(ctx, hook.TurnInput, map[string]string{"message": lines.Text()})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(out.Verdict, string(out.Payload))
	}
}
