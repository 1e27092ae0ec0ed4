package trust

import (
	"os"
	"slices"
	"testing"
	"time"
)

// TestNothingIsGrantedWithoutTheLock: a capability stays withheld if another process holds the
// lock, or if the lock is damaged. The plugin declares one more than was recorded.
func TestNothingIsGrantedWithoutTheLock(t *testing.T) {
	patience = 50 * time.Millisecond
	t.Cleanup(func() { patience = 30 * time.Second })
	for name, spoil := range map[string]func(t *testing.T, lock string) error{
		"another process holds it": func(t *testing.T, lock string) error {
			unlock, err := guard(lock)
			if err == nil {
				t.Cleanup(unlock)
			}
			return err
		},
		"it is damaged": func(_ *testing.T, lock string) error { return os.WriteFile(lock, []byte("version = "), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.want(s.judge(Record, s.plugin("net:a:1")), New)
			k, err := open(Options{Policy: Record, Path: s.lock})
			if err != nil {
				t.Fatal(err)
			}
			s.write("run.sh", "#!/bin/sh\necho\n")
			if err := spoil(t, s.lock); err != nil {
				t.Fatal(err)
			}
			v := k.Judge([]Plugin{s.plugin("net:a:1", "net:b:1")})[0]
			if !slices.Equal(v.Withheld, []string{"net:b:1"}) || v.Err == nil {
				t.Errorf("%q: withheld %q, %v", v.State, v.Withheld, v.Err)
			}
		})
	}
}
