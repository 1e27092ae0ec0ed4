package job

import "time"

// SetBeat sets how often runs write a heartbeat, for tests in which processes die.
func (s *Store) SetBeat(every time.Duration) { s.beat = every }

// StaleAt returns when a schedule in this state becomes overdue. It returns zero if the schedule
// has no such limit, or if stale was reported already.
func StaleAt(st State, s *Schedule) time.Time { return staleAt(&st, s.Next, s.Retry.StaleAfter) }
