package guard

import (
	"os"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// FuzzName gives this process a name, as any plugin can. Whatever the name, a running process must
// not count as ended, because a sweep would then spare it.
func FuzzName(tf *testing.F) {
	f := variants.Of(tf)
	for _, name := range []string{"plugin", "a) Z 1 1", ") X", "((((", "\n) Z", " Z ", "\xff)"} {
		f.Add([]byte(name))
	}
	was, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		f.Skip("no /proc: ", err)
	}
	f.Cleanup(func() { _ = os.WriteFile("/proc/self/comm", was, 0) }) // if that fails, only the name is wrong
	f.Fuzz(func(t *testing.T, name []byte) {
		if err := os.WriteFile("/proc/self/comm", name, 0); err != nil {
			t.Skip(err)
		}
		if finished(os.Getpid()) {
			t.Errorf("a running process named %q counts as ended", name)
		}
	})
}
