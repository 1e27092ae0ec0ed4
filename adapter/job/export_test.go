package job

import "time"

// SetBeat sets how often runs write a heartbeat, for tests in which processes die.
func (s *Store) SetBeat(every time.Duration) { s.beat = every }
