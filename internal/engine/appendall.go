package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The headers of messages that the server stores together.
const (
	headerBatch       = "Nats-Batch-Id"
	headerBatchNumber = "Nats-Batch-Sequence"
	headerBatchCommit = "Nats-Batch-Commit"
)

// codeBatchIncomplete is the server's error if it did not get all messages up to the last one.
const codeBatchIncomplete jetstream.ErrorCode = 10176

// AppendAll implements [Stream]. The server holds the messages back until the last one arrives, and
// then stores them with six synced calls to the file system, for any number of messages. If one of
// them is wrong, it answers the last one with an error.
//
// AppendAll tries again after an error that shows that nothing was stored: between two leaders, a
// cluster accepts no message, or loses some of the first ones. It does not repeat a try without an
// answer: if the messages were stored, the server would refuse their ids.
func (s *stream) AppendAll(ctx context.Context, records []Append) error {
	if !s.stream.CachedInfo().Config.AllowAtomicPublish {
		return fmt.Errorf("records together: %w", errors.ErrUnsupported)
	}
	messages, err := s.together(records)
	if err != nil || len(messages) == 0 {
		return err
	}
	var unsure error
	err = s.link.do(ctx, func(ctx context.Context) error {
		err := s.sendTogether(ctx, messages)
		switch {
		case mayHaveArrived(err):
			unsure = err
			return nil
		case hasCode(err, codeBatchIncomplete) && !s.exact:
			return fmt.Errorf("%w: %w", errReplacing, err)
		}
		return err
	})
	return cmp.Or(err, unsure)
}

// sendTogether sends messages as a new batch. Messages of an earlier try do not belong to it.
func (s *stream) sendTogether(ctx context.Context, messages []*nats.Msg) error {
	batch := rand.Text()
	for _, msg := range messages {
		msg.Header.Set(headerBatch, batch)
	}
	rest, last := messages[:len(messages)-1], messages[len(messages)-1]
	for _, msg := range rest {
		if err := s.engine.nc.PublishMsg(msg); err != nil {
			return err
		}
	}
	answer, err := s.engine.nc.RequestMsgWithContext(ctx, last)
	if err != nil {
		return err
	}
	return storedTogether(answer, len(messages))
}

// together makes the messages for records that are stored together.
func (s *stream) together(records []Append) ([]*nats.Msg, error) {
	messages := make([]*nats.Msg, len(records))
	for i, r := range records {
		if r.ID == "" || r.After != nil {
			return nil, errors.New("records that are added together need an id each, and may not depend on others")
		}
		subject, err := s.subject(r.Topic)
		if err != nil {
			return nil, err
		}
		messages[i] = write{subject: subject, data: r.Data, id: r.ID}.message()
		messages[i].Header.Set(headerBatchNumber, strconv.Itoa(i+1))
		if i == len(records)-1 {
			messages[i].Header.Set(headerBatchCommit, "1")
		}
	}
	return messages, nil
}

// storedTogether decodes the server's answer to the last of count messages.
func storedTogether(answer *nats.Msg, count int) error {
	if status := answer.Header.Get(headerStatus); status != "" {
		return statusError(status)
	}
	var a struct {
		Error *jetstream.APIError `json:"error"`
		Count int                 `json:"count"`
	}
	if err := json.Unmarshal(answer.Data, &a); err != nil {
		return fmt.Errorf("the server's answer: %w", err)
	}
	if a.Error != nil {
		return a.Error
	}
	if a.Count != count {
		return fmt.Errorf("the server stored %d of %d records", a.Count, count)
	}
	return nil
}
