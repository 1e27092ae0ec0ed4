//go:build linux

package faults

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

func TestMain(m *testing.M) {
	plugtest.PlayFault() // if this process is one of the plugins
	goleak.VerifyTestMain(m)
}
