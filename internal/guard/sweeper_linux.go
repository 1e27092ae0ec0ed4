package guard

import (
	"os"
	"slices"
	"sync"
	"time"
)

// A search goes on for at least maxRounds and maxTime while it finds processes. A round kills every
// process that it sees, so more than a few rounds are needed only for processes that multiply or
// that hang in the kernel.
const (
	maxRounds = 150
	maxTime   = 3 * time.Second
)

// maxPause is the longest wait between two rounds.
const maxPause = 20 * time.Millisecond

// A Sweeper sweeps for several callers at the same time. Looking at all processes of the system
// costs far more than comparing them with one more mark, so one look serves every mark. A host that
// stops many plugins at once looks a few times, not a few times for each plugin. The zero Sweeper
// is ready to use. It is safe for concurrent use.
type Sweeper struct {
	mu      sync.Mutex // protects the fields below
	waiting []*search  // have not been part of a round yet
	busy    bool       // run is running
}

// A search is one call of [Sweeper.Sweep]. Only run changes it before done is closed.
type search struct {
	mark   Mark
	began  time.Time
	rounds int
	alive  int // how many processes the last round found
	quiet  int // how many rounds in a row found none
	done   chan struct{}
}

// Sweep kills every running process that has the mark, until two rounds in a row find none. It
// returns how many the last round found: 0, unless SIGKILL does not end a process, for example in a
// hung file system. A killed process cannot fork any more, so after each round only processes
// remain that were forked during it.
func (s *Sweeper) Sweep(m Mark) int {
	if m.Mask == 0 {
		return 0
	}
	one := &search{mark: m, began: time.Now(), done: make(chan struct{})}
	s.mu.Lock()
	s.waiting = append(s.waiting, one)
	if !s.busy {
		s.busy = true
		go s.run()
	}
	s.mu.Unlock()
	<-one.done
	return one.alive
}

// run makes rounds until no search is left.
func (s *Sweeper) run() {
	var searches []*search
	for {
		s.mu.Lock()
		searches = append(searches, s.waiting...)
		s.waiting = nil
		s.busy = len(searches) > 0
		s.mu.Unlock()
		if len(searches) == 0 {
			return
		}
		killMarked(searches)
		searches = slices.DeleteFunc(searches, (*search).over)
		time.Sleep(pause(searches))
	}
}

// over ends a search if two rounds in a row found no process, or if it has taken too long. It
// reports whether the search has ended.
func (s *search) over() bool {
	over := s.quiet == 2 || s.rounds >= maxRounds && time.Since(s.began) >= maxTime
	if over {
		close(s.done)
	}
	return over
}

// pause returns the wait before the next round. Processes that were killed get more time to end
// after each round.
func pause(searches []*search) time.Duration {
	var wait time.Duration
	for _, s := range searches {
		if own := min(time.Duration(s.rounds)*time.Millisecond, maxPause); s.alive > 0 && (wait == 0 || own < wait) {
			wait = own
		}
	}
	return wait
}

// killMarked makes one round. It begins with the newest processes, because those that keep forking
// and exiting have the highest pids.
func killMarked(searches []*search) {
	for _, s := range searches {
		s.rounds++
		s.alive = 0
	}
	for _, pid := range slices.Backward(processes()) {
		if limit, ok := limitOf(pid); ok && pid != os.Getpid() {
			killIfMarked(pid, limit, searches)
		}
	}
	for _, s := range searches {
		if s.quiet++; s.alive > 0 {
			s.quiet = 0
		}
	}
}

// killIfMarked kills a process that a search looks for. The marks of two searches can be on one
// process, since each process has its own mark and that of its host.
func killIfMarked(pid int, limit uint64, searches []*search) {
	killed := false
	for _, s := range searches {
		if !s.mark.On(limit) {
			continue
		}
		if !killed && finished(pid) {
			return
		}
		if !killed {
			kill(pid, s.mark)
		}
		killed = true
		s.alive++
	}
}
