package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/wire"
)

// Names of the series of the section about the SDK.
const (
	nameHandHook  = "by hand: a scaffold hook that changes a text"
	nameSDKHook   = "SDK: the same hook"
	nameHandTool  = "by hand: a scaffold tool"
	nameSDKTool   = "SDK: the same tool"
	nameHandKaged = "by hand: a kaged tool"
	nameSDKKaged  = "SDK: the same kaged tool"
)

// A writtenPlugin is a contestant whose plugin is a program from the folder programs, called over
// the wire.
type writtenPlugin struct {
	name    string
	program string
	greet   string // the params of initialize
	method  string
	params  func(payload []byte) []byte
	want    string // how every result begins

	cmd    *exec.Cmd
	ends   []*os.File // the host's ends of its pipes
	wire   *wire.Serial
	sent   []byte // made from the first payload, which is the same at every call
	stderr strings.Builder
}

// The two handshakes.
const (
	greetScaffold = `{"protocol_version":1}`
	greetKaged    = `{"daemon_version":"0","api_version":1,"plugin_name":"bench","storage_available":false,"projects":[],"config":{},"system_config":{}}`
	kagedContext  = `{"operator_id":"ann","project_id":"garden","agent_path":"primary","session_id":"ses_1","request_id":"246a49f261249caa","project_root":"/home/ann/garden"}`
)

// measureSDK makes 60 × 200 calls of each kind to a plugin written with the SDK, and to one written
// without it.
func measureSDK(ctx context.Context, e effort) ([]Series, error) {
	dir, err := os.MkdirTemp("", "bench-sdk-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	hand, err := buildProgram(ctx, dir, "byhand")
	if errors.Is(err, errSkip) {
		return skipAll(err.Error(), nameHandHook, nameSDKHook, nameHandTool, nameSDKTool, nameHandKaged, nameSDKKaged), nil
	}
	if err != nil {
		return nil, err
	}
	const sdk = "github.com/patchbay-dev/patchbay/sdk/go"
	own, err := buildProgram(ctx, dir, "sdk", "require "+sdk+" v0.0.0", "replace "+sdk+" => "+filepath.Join(e.source, "sdk/go"))
	if err != nil {
		return nil, err
	}
	var all []Contestant
	for _, kind := range []struct {
		hand, sdk string
		call      writtenPlugin
	}{
		{nameHandHook, nameSDKHook, writtenPlugin{greet: greetScaffold, method: "hook/post_user_input", want: `{"action":"continue","message":"the quick`,
			params: func(payload []byte) []byte { return payload }}},
		{nameHandTool, nameSDKTool, writtenPlugin{greet: greetScaffold, method: "tool/execute", want: `{"`,
			params: func(payload []byte) []byte {
				return fmt.Appendf(nil, `{"name":"count","arguments":%s}`, textOf(payload))
			}}},
		{nameHandKaged, nameSDKKaged, writtenPlugin{greet: greetKaged, method: "bench.count", want: `{"words":`,
			params: func(payload []byte) []byte {
				return fmt.Appendf(nil, `%s,"_context":%s}`, strings.TrimSuffix(textOf(payload), "}"), kagedContext)
			}}},
	} {
		byHand, bySDK := kind.call, kind.call
		byHand.name, byHand.program = kind.hand, hand
		bySDK.name, bySDK.program = kind.sdk, own
		all = append(all, &byHand, &bySDK)
	}
	payload := payloadOf(smallCall)
	return each(ctx, e.of(60), all, func(c Contestant) turn { return timed(c, payload, warmUpSmall, 200) })
}

// textOf returns the payload with its field renamed to text.
func textOf(payload []byte) string {
	return strings.Replace(string(payload), `"message"`, `"text"`, 1)
}

func (a *writtenPlugin) Name() string { return a.name }

func (a *writtenPlugin) Open(ctx context.Context) error {
	stdin, in, err := os.Pipe()
	if err != nil {
		return err
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		return err
	}
	a.ends = []*os.File{in, out}
	a.cmd = exec.Command(a.program)
	a.cmd.Stdin, a.cmd.Stdout, a.cmd.Stderr = stdin, stdout, &a.stderr
	err = a.cmd.Start()
	_, _ = stdin.Close(), stdout.Close() // the child has its own
	if err != nil {
		return err
	}
	a.wire = wire.NewSerial(out, in, wire.Options{})
	if _, err := a.wire.Call(ctx, "initialize", []byte(a.greet)); err != nil {
		return fmt.Errorf("initialize: %w: %.200s", err, a.stderr.String())
	}
	return nil
}

func (a *writtenPlugin) Call(ctx context.Context, payload []byte) error {
	if a.sent == nil {
		a.sent = a.params(payload)
	}
	reply, err := a.wire.Call(ctx, a.method, a.sent)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(string(reply), a.want) {
		return fmt.Errorf("the reply is %.100s", reply)
	}
	return nil
}

func (a *writtenPlugin) Close() error {
	if a.wire != nil {
		a.wire.Close()
	}
	for _, end := range a.ends {
		_ = end.Close() // the wire may have closed it
	}
	if a.cmd == nil || a.cmd.Process == nil {
		return nil
	}
	ended := time.AfterFunc(10*time.Second, func() { _ = a.cmd.Process.Kill() })
	defer ended.Stop()
	if err := a.cmd.Wait(); err != nil {
		return errors.Join(err, errors.New(a.stderr.String()))
	}
	return nil
}
