package guard

import (
	"os"
	"testing"
)

// FuzzName gives this process a name, as any plugin can give itself one: whatever it is, a living
// process is not taken for one that has ended, which would be spared by a sweep.
func FuzzName(f *testing.F) {
	for _, name := range []string{"plugin", "a) Z 1 1", ") X", "((((", "\n) Z", " Z ", "\xff)"} {
		f.Add([]byte(name))
	}
	was, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		f.Skip("no /proc: ", err)
	}
	f.Cleanup(func() { _ = os.WriteFile("/proc/self/comm", was, 0) }) // a name is all that is lost
	f.Fuzz(func(t *testing.T, name []byte) {
		if err := os.WriteFile("/proc/self/comm", name, 0); err != nil {
			t.Skip(err)
		}
		if finished(os.Getpid()) {
			t.Errorf("called %q, a living process is taken for one that has ended", name)
		}
	})
}
