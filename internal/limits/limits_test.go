//go:build unix

package limits

import (
	"testing"
	"time"
)

func TestExceeded(t *testing.T) {
	const killed, xcpu = "SIGKILL", "SIGXCPU"
	limits := Limits{Memory: 256 << 20, CPU: 1500 * time.Millisecond}
	const memory, cpu = "over its memory of 256 MiB", "over its CPU time of 2s"
	for name, test := range map[string]struct {
		limits Limits
		end    Ending
		want   string
	}{
		"SIGXCPU is about CPU time, in whole seconds":        {limits, Ending{Signal: xcpu}, cpu},
		"SIGXCPU without a limit is not explained":           {Limits{}, Ending{Signal: xcpu}, ""},
		"SIGKILL after that much CPU time is about CPU time": {limits, Ending{Signal: killed, CPU: 3 * time.Second}, cpu},
		"SIGKILL after less CPU time is not explained":       {limits, Ending{Signal: killed, CPU: time.Second}, ""},
		"SIGKILL by the host is not explained":               {limits, Ending{Signal: killed, CPU: 3 * time.Second, ByHost: true}, ""},
		"SIGKILL in a cgroup out of memory is about memory":  {limits, Ending{Signal: killed, outOfMemory: true}, memory},
		"memory is named before CPU time":                    {limits, Ending{Signal: killed, CPU: time.Hour, outOfMemory: true}, memory},
		"a process that exited by itself is not explained":   {limits, Ending{outOfMemory: true}, ""},
		"a normal exit exceeds nothing":                      {limits, Ending{CPU: time.Hour}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.limits.exceeded(test.end); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0 bytes", 1000: "1000 bytes", 1 << 10: "1 KiB", 1536 << 10: "1536 KiB", 256 << 20: "256 MiB", 1 << 40: "1 TiB", 1 << 50: "1024 TiB",
	} {
		if got := size(bytes); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
