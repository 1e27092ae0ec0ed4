package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// An Order asks for a run that is due, or for the next attempt of a run.
type Order struct {
	Agent    string    `json:"agent"`
	Schedule string    `json:"schedule"`
	Tick     time.Time `json:"tick"`
	Run      string    `json:"run"`
	Attempt  int       `json:"attempt"` // from 1
	Manual   bool      `json:"manual,omitempty"`
}

// id returns the id of the order in the queue. It is the same on every machine that creates the
// order.
func (o *Order) id() string { return fmt.Sprintf("%s#%d", o.Run, o.Attempt) }

// newOrder returns an order for the first attempt of a run.
func newOrder(m *Manifest, s *Schedule, tick time.Time, manual bool) Order {
	return Order{Agent: m.Agent.Name, Schedule: s.ID, Tick: tick, Run: runID(m.Agent.Name, s.ID, tick, manual), Attempt: 1, Manual: manual}
}

// decodeOrder decodes an order from the queue.
func decodeOrder(data []byte) (o Order, err error) {
	err = json.Unmarshal(data, &o)
	if err == nil && (o.Agent == "" || o.Schedule == "" || o.Run == "" || o.Attempt < 1) {
		err = errors.New("an order without agent, schedule, run or attempt")
	}
	return o, err
}
