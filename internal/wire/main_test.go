package wire

import (
	"encoding/json"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// fakeEnv names the plugin that the test binary plays when it is started as a child.
const fakeEnv = "WIRE_TEST_FAKE"

func TestMain(m *testing.M) {
	name := os.Getenv(fakeEnv)
	for _, family := range []map[string]func(r, w *os.File){fakes, misbehaviours} {
		if fake, ok := family[name]; ok {
			fake(os.Stdin, os.Stdout)
			return
		}
	}
	goleak.VerifyTestMain(m)
}

// fakes are plugins that work.
var fakes = map[string]func(r, w *os.File){
	"lent": func(r, w *os.File) {
		_ = ServeLent(r, w, func(method string, params json.RawMessage) (json.RawMessage, error) { return params, nil })
	},
	"serve": func(r, w *os.File) {
		_ = Serve(r, w, func(method string, params json.RawMessage) (json.RawMessage, error) { return params, nil })
	},
	"bare": func(r, w *os.File) {
		buf := make([]byte, 1<<20)
		for {
			n, err := r.Read(buf)
			if err != nil {
				return
			}
			if _, err := w.Write(buf[:n]); err != nil {
				return
			}
		}
	},
}

// A child is the test binary, started as a fake plugin.
type child struct {
	r, w *os.File // the host's ends of its pipes
	proc *os.Process
}

func startChild(t testing.TB, fake string) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	stdin, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	proc, err := os.StartProcess(self, []string{fake}, &os.ProcAttr{
		Env:   append(os.Environ(), fakeEnv+"="+fake),
		Files: []*os.File{stdin, stdout, os.Stderr},
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = stdin.Close()
	_ = stdout.Close()
	c := &child{r: r, w: w, proc: proc}
	t.Cleanup(func() {
		_ = closeBoth(r, w)
		_ = proc.Kill()
		_, _ = proc.Wait()
	})
	return c
}
