package machine

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
)

// A recorder is a test that records how it ended.
type recorder struct {
	testing.TB
	end string
}

func (*recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.stop("failed: " + fmt.Sprintf(format, args...))
}
func (r *recorder) Skipf(format string, args ...any) {
	r.stop("skipped: " + fmt.Sprintf(format, args...))
}

func (r *recorder) stop(end string) {
	r.end = end
	runtime.Goexit()
}

// ending runs f with its own test, and returns how that ended.
func ending(f func(t testing.TB)) string {
	r := &recorder{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r.end
}

func TestLacks(t *testing.T) {
	has, hasNot := Feature{"wings", func() error { return nil }}, Feature{"wings", func() error { return errors.New("none") }}
	for _, c := range []struct {
		rule, ci string
		feature  Feature
		want     string
	}{
		{"without CI a test is skipped", "", has, "skipped: no wings here: too heavy"},
		{"with CI it fails if the machine has the feature", "true", has, "failed: this machine has wings, but our own code says that it does not: too heavy"},
		{"with CI it is skipped if the machine lacks the feature", "1", hasNot, "skipped: no wings here: too heavy"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Setenv("CI", c.ci)
			if got := ending(func(t testing.TB) { Lacks(t, c.feature, errors.New("too heavy")) }); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
