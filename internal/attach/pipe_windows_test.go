package attach

import "testing"

func makePipe(t *testing.T, _ string) { t.Skip("there are no named pipes in directories here") }
