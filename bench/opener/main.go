// Opener starts the plugins of a directory, again and again, and prints how long that took: through
// Patchbay, as a program that embeds it does, or bare, which is the least that any host must do. It
// is a separate small program because Patchbay starts the host's program once more, as the
// guardian. The benchmark itself contains all peers, so it is larger than any real host.
//
//	opener HOME COUNT    reads lines "open" and "bare", and answers each with milliseconds
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

func main() {
	if err := serve(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "opener:", err)
		os.Exit(1)
	}
}

// serve starts the plugins for each line of stdin, and answers with the time that it took.
func serve(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("usage: opener HOME COUNT")
	}
	count, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	ways := map[string]func(ctx context.Context, home string, count int) (time.Duration, error){"open": open, "bare": bare}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		start, ok := ways[lines.Text()]
		if !ok {
			return fmt.Errorf("unknown way %q", lines.Text())
		}
		took, err := start(ctx, args[0], count)
		if err != nil {
			return err
		}
		fmt.Println(float64(took) / float64(time.Millisecond))
	}
	return lines.Err()
}

// open times Open, which finds, checks, starts and wires the plugins. Close is not timed.
func open(ctx context.Context, home string, count int) (time.Duration, error) {
	environ := []string{"PATH=/usr/bin:/bin", "HOME=" + home, "PATCHBAY_HOME=" + filepath.Join(home, "patchbay"), "SCAFFOLD_HOME=" + filepath.Join(home, "scaffold")}
	start := time.Now()
	host, err := pluginhost.Open(ctx, &pluginhost.Options{Environ: environ, Dir: home})
	took := time.Since(start)
	if err != nil {
		return 0, err
	}
	ready := 0
	for _, p := range host.Plugins() {
		if p.Error != nil {
			return 0, errors.Join(fmt.Errorf("plugin %s is %s: %.200q", p.Name, p.State, *p.Error), host.Close())
		}
		ready++
	}
	if ready != count {
		return 0, errors.Join(fmt.Errorf("%d plugins are ready, not %d", ready, count), host.Close())
	}
	return took, host.Close()
}

// bare times the start of every program at once, until the last has answered its handshake. Their
// end is not timed.
func bare(_ context.Context, home string, count int) (time.Duration, error) {
	start := time.Now()
	paths, err := filepath.Glob(filepath.Join(home, "scaffold", "plugins", "*"))
	if err != nil {
		return 0, err
	}
	if len(paths) != count {
		return 0, fmt.Errorf("%d plugins in %s, not %d", len(paths), home, count)
	}
	started := make([]*child, len(paths)) // each goroutine owns its element of both
	errs := make([]error, len(paths))
	var all sync.WaitGroup
	for i, path := range paths {
		all.Go(func() { started[i], errs[i] = shake(path) })
	}
	all.Wait()
	took := time.Since(start)
	for _, c := range started {
		errs = append(errs, c.end())
	}
	return took, errors.Join(errs...)
}

// A child is a started plugin.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out io.ReadCloser
}

// handshake is the scaffold dialect's first request.
const handshake = `{"jsonrpc":"2.0","method":"initialize","params":{"protocol_version":1},"id":1}` + "\n"

// shake starts one plugin and reads its answer to the handshake.
func shake(path string) (*child, error) {
	c := &child{cmd: exec.Command(path)}
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if c.out, err = c.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(c.in, handshake); err != nil {
		return c, err
	}
	answer, err := bufio.NewReader(c.out).ReadBytes('\n')
	if err == nil && !bytes.Contains(answer, []byte(filepath.Base(path))) {
		err = fmt.Errorf("%s answered %.100q", filepath.Base(path), answer)
	}
	return c, err
}

// end closes the plugin's stdin and waits for its exit.
func (c *child) end() error {
	if c == nil {
		return nil
	}
	c.in.Close()
	_, err := io.Copy(io.Discard, c.out)
	return errors.Join(err, c.cmd.Wait())
}
