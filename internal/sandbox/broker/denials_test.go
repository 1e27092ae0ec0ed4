package broker

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestDenialsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reported []Denial
		n := newDenials(func(d Denial) { reported = append(reported, d) })
		for range perSecond + 5 {
			n.add(Denial{What: "flood"})
			synctest.Wait()
		}
		if len(reported) != perSecond {
			t.Errorf("%d reported in the first second, want %d", len(reported), perSecond)
		}
		time.Sleep(time.Second)
		n.add(Denial{What: "later"})
		synctest.Wait()
		if last := reported[len(reported)-1]; last.What != "later" || last.Dropped != 5 {
			t.Errorf("the first of the next second is %+v, want 5 dropped before it", last)
		}
		n.close()
	})
}

func TestASlowListenerDoesNotBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		reported := 0
		n := newDenials(func(d Denial) { <-release; reported += 1 + d.Dropped })
		for range 100 {
			n.add(Denial{What: "denied"}) // if it blocked, synctest would report it
			time.Sleep(time.Second)
		}
		close(release)
		n.close()
		if reported != 100+1 { // the last one reports the dropped ones and is not a denial itself
			t.Errorf("%d reported or counted, want 101", reported)
		}
	})
}

func TestADenialIsKnownBeforeTheRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reported := false
		n := newDenials(func(Denial) {
			time.Sleep(reportTime / 2)
			reported = true
		})
		n.add(Denial{What: "denied"})
		if !reported {
			t.Error("the refusal came before the denial")
		}
		n.close()
	})
}

func TestDenialsWithoutAListener(t *testing.T) {
	n := newDenials(nil)
	n.add(Denial{})
	n.close()
	n.close()
}

func TestDenialSaysWhatWouldAllowIt(t *testing.T) {
	for want, d := range map[string]Denial{
		"connection to 192.0.2.7:443: to allow it, grant net:192.0.2.7:443": {What: "connection to 192.0.2.7:443", Capability: "net:192.0.2.7:443"},
		"TLS without a server name to api.example:443":                      {What: "TLS without a server name to api.example:443"},
	} {
		if d.Error() != want {
			t.Errorf("%q, want %q", d.Error(), want)
		}
	}
}
