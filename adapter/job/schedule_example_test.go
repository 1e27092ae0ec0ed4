package job_test

import (
	"fmt"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/job"
)

// A manifest says when its agent runs. Next returns the right instant on a day on which the clocks
// are changed, too.
func ExampleSchedule_Next() {
	m, err := job.Parse("/agents/report/agent.toml", []byte(`
[agent]
name = "report"

[run]
command = "./report.sh"

[[schedules]]
id = "nightly"
type = "cron"
hours = [2]
minute = 30
timezone = "Europe/Berlin"
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	s := m.Schedule("nightly")
	tick := time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC)
	for range 3 { // the clocks jump from 02:00 to 03:00 on the 29th
		tick = s.Next(tick)
		fmt.Println(tick)
	}
	// Output:
	// 2026-03-28 02:30:00 +0100 CET
	// 2026-03-29 03:00:00 +0200 CEST
	// 2026-03-30 02:30:00 +0200 CEST
}
