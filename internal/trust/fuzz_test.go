package trust

import (
	"bytes"
	"errors"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// FuzzLock: a lock is the same after it was written and read again; every fault has its place and a
// fix.
func FuzzLock(tf *testing.F) {
	f := variants.Of(tf)
	l := &Lock{}
	l.Put(&Entry{Dialect: "mine", Name: "x", Files: []File{{Path: "a", Mode: Plain, Sum: sum(nil)}}, Capabilities: []string{"net:a:1"}})
	f.Add(l.text())
	f.Add([]byte("version = 1\n[[plugin]]\nname = 1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := parse("patchbay.lock", text)
		if err != nil {
			bad, ok := errors.AsType[*document.Error](err)
			if !ok || len(bad.Problems) == 0 || bad.Problems[0].Fix == "" {
				t.Errorf("%v", err)
			}
			return
		}
		again, err := parse("patchbay.lock", l.text())
		if err != nil || !bytes.Equal(again.text(), l.text()) {
			t.Errorf("%v\n%s", err, l.text())
		}
	})
}
