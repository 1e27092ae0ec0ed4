//go:build linux

package hosttest

import (
	"os"
	"strings"
	"testing"
)

func TestAdhoc(t *testing.T) {
	spec := os.Getenv("ADHOC") // product|event|json ; 
	for _, one := range strings.Split(spec, "\n") {
		f := strings.SplitN(one, "|", 3)
		for _, p := range products {
			if p.name != f[0] {
				continue
			}
			t.Run(p.name, func(t *testing.T) {
				s := newStage(t, p)
				s.write(s.home+"/answer", f[2])
				p.hooks(s, `cat >>`+s.home+`/log; echo >>`+s.home+`/log; if [ "$EVENT" = `+f[1]+` ]; then cat `+s.home+`/answer; fi`)
				s.run("please begin", []string{"echo orig >f; cat f"})
				s.Logf("%s -> result %q", one, s.result(0))
				s.Logf("context: %v", s.last().Says("CTXT"))
				if os.Getenv("ADHOC_LOG") != "" {
					l, _ := s.read(s.home + "/log")
					s.Log(l)
				}
			})
		}
	}
}
