package job_test

import (
	"testing"

	"go.uber.org/goleak"
)

func verify(m *testing.M) { goleak.VerifyTestMain(m) }
