package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
)

// request sends a request to the host, and waits for its answer.
func (c *conversation) request(ctx context.Context, method string, params any) ([]byte, error) {
	text, err := marshal(params)
	if err != nil {
		return nil, err
	}
	answer := make(chan message, 1)
	c.mu.Lock()
	c.next++
	id := strconv.Quote(c.session.plugin.name + "-" + strconv.Itoa(c.next))
	if c.waiting == nil {
		c.mu.Unlock()
		return nil, errGone
	}
	c.waiting[id] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.waiting, id)
		c.mu.Unlock()
	}()
	line := append(append([]byte(`{"jsonrpc":"2.0","id":`), id...), `,"method":`...)
	line = append(appendString(line, method), `,"params":`...)
	if err := c.session.out.line(append(append(line, text...), '}')); err != nil {
		return nil, err
	}
	c.relieve(c.turn.Load()) // another goroutine must read the answer
	select {
	case m, ok := <-answer:
		return outcome(m, ok)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

var errGone = errors.New("the host is gone")

func outcome(m message, ok bool) ([]byte, error) {
	if !ok {
		return nil, errGone
	}
	if m.failure == nil {
		return m.result, nil
	}
	var failure struct{ Message string }
	if json.Unmarshal(m.failure, &failure) != nil || failure.Message == "" {
		failure.Message = "the host answered with an error"
	}
	return nil, errors.New(failure.Message)
}

// deliver passes an answer of the host to the request that waits for it.
func (c *conversation) deliver(m message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer := c.waiting[string(m.id)]; answer != nil {
		delete(c.waiting, string(m.id))
		answer <- message{result: bytes.Clone(m.result), failure: bytes.Clone(m.failure)}
	}
}

// abandon ends all waiting: no answer will come.
func (c *conversation) abandon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, answer := range c.waiting {
		close(answer)
	}
	c.waiting = nil
}

// notify sends a notification to the host.
func (c *conversation) notify(method string, params any) error {
	text, err := marshal(params)
	if err != nil {
		return err
	}
	line := append(appendString([]byte(`{"jsonrpc":"2.0","method":`), method), `,"params":`...)
	return c.session.out.line(append(append(line, text...), '}'))
}
