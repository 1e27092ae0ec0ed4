package limits

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestPluginsHaveAQuarterOfTheDescriptors(t *testing.T) {
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &own); err != nil {
		t.Fatal(err)
	}
	if got := HostDescriptors().limit(); got != int(own.Cur)/4 {
		t.Errorf("%d of %d", got, own.Cur)
	}
}
