package job

import "time"

// SetBeat makes a store's runs say more often that they are alive, for tests in which processes
// die.
func (s *Store) SetBeat(every time.Duration) { s.beat = every }
