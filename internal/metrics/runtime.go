package metrics

import (
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"time"
)

// Runtime adds metrics of Go's runtime, with the names that the Prometheus library for Go uses.
func (r *Registry) Runtime() {
	r.Observe(Measured, "go_info", "The version of Go.", []string{"version"}, func(show Show) { show(1, runtime.Version()) })
	r.measure("go_goroutines", "Goroutines.", func() float64 { return float64(runtime.NumGoroutine()) })
	r.measure("go_threads", "Threads that were made.", func() float64 { return float64(pprof.Lookup("threadcreate").Count()) })
	r.measure("go_sched_gomaxprocs_threads", "How many threads run Go code at a time.", func() float64 { return float64(runtime.GOMAXPROCS(0)) })
	r.measure("go_gc_gomemlimit_bytes", "The memory limit of the runtime.", func() float64 { return float64(debug.SetMemoryLimit(-1)) })
	r.add(gcPauses{&heading{"go_gc_duration_seconds", "Pauses of the garbage collector.", "summary", nil}})
	r.add(&memStats{heading: &heading{name: "go_memstats"}})
}

func (r *Registry) measure(name, help string, read func() float64) {
	r.Observe(Measured, name, help, nil, func(show Show) { show(read()) })
}

// gcPauses is a summary of the garbage collector's pauses.
type gcPauses struct{ *heading }

func (s gcPauses) write(p *page) {
	stats := debug.GCStats{PauseQuantiles: make([]time.Duration, 5)}
	debug.ReadGCStats(&stats)
	for i, quantile := range []string{"0", "0.25", "0.5", "0.75", "1"} {
		p.number(s.name, []string{"quantile"}, []string{quantile}, stats.PauseQuantiles[i].Seconds())
	}
	p.number(s.name+"_sum", nil, nil, stats.PauseTotal.Seconds())
	p.number(s.name+"_count", nil, nil, float64(stats.NumGC))
}

// memStats has many families that come from one call, because each call stops the program for a
// moment.
type memStats struct{ *heading }

func (*memStats) write(p *page) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	for _, f := range []struct {
		name, help string
		kind       Kind
		n          float64
	}{
		{"alloc_bytes", "Bytes in use.", Measured, float64(m.Alloc)},
		{"alloc_bytes_total", "Bytes that were allocated, including those freed since.", Counted, float64(m.TotalAlloc)},
		{"buck_hash_sys_bytes", "Bytes for profiles.", Measured, float64(m.BuckHashSys)},
		{"frees_total", "Objects that were freed.", Counted, float64(m.Frees)},
		{"gc_sys_bytes", "Bytes for the garbage collector.", Measured, float64(m.GCSys)},
		{"heap_alloc_bytes", "Bytes in use on the heap.", Measured, float64(m.HeapAlloc)},
		{"heap_idle_bytes", "Bytes of the heap that wait to be used.", Measured, float64(m.HeapIdle)},
		{"heap_inuse_bytes", "Bytes of the parts of the heap that are used.", Measured, float64(m.HeapInuse)},
		{"heap_objects", "Objects on the heap.", Measured, float64(m.HeapObjects)},
		{"heap_released_bytes", "Bytes of the heap that were given back to the system.", Measured, float64(m.HeapReleased)},
		{"heap_sys_bytes", "Bytes of the heap obtained from the system.", Measured, float64(m.HeapSys)},
		{"last_gc_time_seconds", "When garbage was last collected, since 1970.", Measured, float64(m.LastGC) / 1e9},
		{"mallocs_total", "Objects that were allocated.", Counted, float64(m.Mallocs)},
		{"next_gc_bytes", "The size of the heap at which garbage is collected next.", Measured, float64(m.NextGC)},
		{"other_sys_bytes", "Bytes for the rest of the runtime.", Measured, float64(m.OtherSys)},
		{"stack_inuse_bytes", "Bytes of stacks in use.", Measured, float64(m.StackInuse)},
		{"stack_sys_bytes", "Bytes of stacks obtained from the system.", Measured, float64(m.StackSys)},
		{"sys_bytes", "Bytes obtained from the system.", Measured, float64(m.Sys)},
	} {
		p.heading = &heading{"go_memstats_" + f.name, f.help, f.kind, nil}
		p.number(p.heading.name, nil, nil, f.n)
	}
}
