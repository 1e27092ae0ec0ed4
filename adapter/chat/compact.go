package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/adapter"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/nearest"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// The strategies of compaction.
const (
	StrategyDrop       = "drop"       // removes the oldest messages
	StrategySummarize  = "summarize"  // the model summarizes the oldest messages
	StrategyDelegate   = "delegate"   // a plugin, the compactor, does it
	StrategyCheckpoint = "checkpoint" // the model writes down the state of the work, and a new context starts with it
)

// Strategies lists the strategies.
func Strategies() []string {
	return []string{StrategyDrop, StrategySummarize, StrategyDelegate, StrategyCheckpoint}
}

// The triggers of a compaction, as plugins see them.
const (
	triggerAuto   = "auto"
	triggerManual = "manual"
)

// DefaultKeep is how many messages at the end stay as they are. That is a few rounds of tool calls,
// which a summary would have to repeat.
const DefaultKeep = 12

// defaultAt leaves room for the reply, and for an estimate that is wrong by a tenth.
const defaultAt = 0.8

// ErrNothingToCompact is returned for a transcript that is too short to be compacted.
var ErrNothingToCompact = errors.New("there is nothing to compact yet")

// errNoCompactor is returned for the strategy delegate if no plugin compacted the transcript.
var errNoCompactor = errors.New("no plugin compacted the transcript: the strategy delegate needs a compactor " +
	"(a kaged plugin with the role compactor); choose another strategy")

// A compactionPlan says how to compact a transcript.
type compactionPlan struct {
	strategy string
	trigger  string
	keep     int // how many messages at the end stay; a checkpoint keeps those since the user's last one instead
	budget   int // how many tokens the messages that stay may have; 0: any number
}

func (s *compactionPlan) manual() bool { return s.trigger == triggerManual }

// split divides a transcript into the messages to remove and the messages that stay.
func (s *compactionPlan) split(all []model.Message) (gone, kept []model.Message) {
	keep := s.keep
	if s.strategy == StrategyCheckpoint {
		keep = countSinceUser(all)
	}
	return split(all, keep, s.budget)
}

// A compactionResult is a compacted transcript.
type compactionResult struct {
	strategy string // the strategy that was used
	by       string // the plugin that compacted; "": none
	gone     []model.Message
	messages []model.Message
	note     string // how the compaction differs from the plan
}

// CompactNow compacts a session's transcript because the user asked for it. It ignores the text of
// the turn. If strategy is empty, the agent's own applies.
func (a *Agent) CompactNow(ctx context.Context, t Turn, strategy string) (*session.Compaction, error) {
	strategy = or(strategy, a.Compact.strategy())
	if err := CheckStrategy(strategy); err != nil {
		return nil, err
	}
	t.Text = ""
	r := a.newRun(t)
	defer r.watch.close()
	messages := r.turn.Log.Messages()
	if len(messages) == 0 {
		return nil, ErrNothingToCompact
	}
	// The user wants something to be removed, however short the transcript is.
	keep := min(a.Compact.keep(), len(messages)/2)
	return r.compact(hook.WithRequest(ctx, r.turn.ID),
		&compactionPlan{strategy: strategy, trigger: triggerManual, keep: keep, budget: r.budget()})
}

// CheckStrategy returns an error if name is not a strategy. The error names the nearest strategies.
func CheckStrategy(name string) error {
	if slices.Contains(Strategies(), name) {
		return nil
	}
	return fmt.Errorf("no compaction strategy %.40q: %s", name, nearest.Suggest(name, Strategies()))
}

func (o CompactOptions) strategy() string { return or(o.Strategy, StrategySummarize) }

func (o CompactOptions) keep() int {
	if o.Keep <= 0 {
		return DefaultKeep
	}
	return o.Keep
}

// limit returns the number of tokens at which a conversation is compacted; 0 if the model's window
// is unknown.
func (a *Agent) limit() int {
	at := a.Compact.At
	if at <= 0 {
		at = defaultAt
	}
	if a.Model == nil {
		return 0
	}
	return int(at * float64(a.Model.Info().Window))
}

// budget returns how many tokens the messages that stay may have. It is half the limit, so that the
// next compaction is far away.
func (r *run) budget() int { return r.agent.limit() / 2 }

// compactIfLong compacts a conversation that has become too long for the model. If there is too
// little to remove, or a plugin refuses, the model is called nevertheless.
func (r *run) compactIfLong(ctx context.Context, tools []model.Tool) error {
	limit := r.agent.limit()
	if limit <= 0 || r.estimateSize(tools) <= limit {
		return nil
	}
	_, err := r.compactAuto(ctx, r.budget())
	return err
}

// compactTooLong compacts a conversation that the model rejected as too long. Our own count may be
// wrong, or the window may be smaller than stated. So the messages that stay get at most a quarter
// of the tokens that we count.
func (r *run) compactTooLong(ctx context.Context) (shorter bool, err error) {
	budget := model.Estimate(r.turn.Log.Messages()) / 4
	if own := r.budget(); own > 0 {
		budget = min(budget, own)
	}
	return r.compactAuto(ctx, max(budget, 1))
}

// compactAuto compacts without a request of the user, and reports whether it did.
func (r *run) compactAuto(ctx context.Context, budget int) (done bool, err error) {
	s := &compactionPlan{strategy: r.agent.Compact.strategy(), trigger: triggerAuto, keep: r.agent.Compact.keep(), budget: budget}
	if err := CheckStrategy(s.strategy); err != nil {
		return false, err
	}
	// If only one message can be removed, it is most likely the summary of the last compaction.
	if gone, _ := s.split(r.turn.Log.Messages()); len(gone) < 2 {
		return false, nil
	}
	_, err = r.compact(ctx, s)
	if _, refused := errors.AsType[*refusal](err); refused {
		r.logger.Warn("transcript was not compacted", "err", err)
		return false, nil
	}
	return err == nil, err
}

// estimateSize returns the number of tokens in the conversation: the model's own count for the
// messages that it has seen, and our estimate for the others. If our estimate of the whole is
// larger, it returns that.
func (r *run) estimateSize(tools []model.Tool) int {
	messages := r.turn.Log.Messages()
	request := model.Request{System: r.prompt.text(), Messages: messages, Tools: tools}
	estimate := request.Estimate()
	if r.counted.Input == 0 || r.countAt > len(messages) {
		return estimate
	}
	return max(estimate, r.counted.Input+model.Estimate(messages[r.countAt:]))
}

// Estimate returns about how many tokens a model call with these messages of a session has, with
// the base prompt and the tools. What plugins add to the prompt is not counted.
func (a *Agent) Estimate(s session.Session, messages []model.Message) int {
	r := a.newRun(Turn{Session: s})
	request := model.Request{System: r.basePrompt(), Messages: messages, Tools: r.offerTools()}
	return request.Estimate()
}

// compact fires compact.before, compacts the transcript unless a plugin did, fires compact.after,
// and stores the result in the log.
func (r *run) compact(ctx context.Context, s *compactionPlan) (*session.Compaction, error) {
	all := r.turn.Log.Messages()
	done, err := r.delegateCompaction(ctx, s, all)
	if err != nil {
		return nil, err
	}
	if done == nil {
		if done, err = r.compactBuiltIn(ctx, s, all); err != nil {
			return nil, err
		}
	}
	if err := r.retainMessages(ctx, s, done); err != nil {
		return nil, err
	}
	done.messages = repairToolCalls(done.messages)
	c := session.Compaction{Strategy: done.strategy, Trigger: s.trigger, By: done.by, Messages: done.messages, Before: len(all)}
	if err := r.keepCompaction(ctx, c); err != nil {
		return nil, err
	}
	r.counted, r.countAt = model.Usage{}, 0
	r.emit(Event{Type: Compacted, Compaction: &c, Text: done.note})
	return &c, nil
}

func (r *run) keepCompaction(ctx context.Context, c session.Compaction) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTimeout)
	defer cancel()
	if err := r.turn.Log.Compact(ctx, c); err != nil {
		return fmt.Errorf("transcript: %w", err)
	}
	return nil
}

// delegateCompaction lets a plugin compact the transcript: docs/protocols/kaged.md, row K90. It
// returns nil if no plugin did.
func (r *run) delegateCompaction(ctx context.Context, s *compactionPlan, all []model.Message) (*compactionResult, error) {
	fields, out, err := r.pass(ctx, hook.CompactBefore, struct {
		Messages  []model.Message `json:"messages"`
		Strategy  string          `json:"strategy"`
		Trigger   string          `json:"trigger"`
		SessionID string          `json:"session_id"`
	}{all, s.strategy, s.trigger, r.about.SessionID})
	if err != nil || out.Verdict != hook.Stop {
		return nil, err
	}
	done, err := s.readAnswer(all, fields)
	if err != nil {
		r.logger.Warn("the compactor's answer is ignored", "plugin", out.By, "point", out.Point, "err", err)
		return nil, nil
	}
	if done != nil {
		done.by = out.By
	}
	return done, nil
}

// readAnswer reads the answer of a compactor: messages that replace all, or a summary that replaces
// the oldest. It returns nil if the answer changes nothing.
func (s *compactionPlan) readAnswer(all []model.Message, fields hook.Object) (*compactionResult, error) {
	var first []model.Message
	if summary := strings.TrimSpace(adapter.Plain(fields, "summary")); summary != "" {
		first = []model.Message{summaryMessage(adapter.CutMiddle(summary, maxSummary))}
	}
	answered := changedList(all, fields.Get("messages"))
	if answered == nil && first == nil {
		return nil, nil
	}
	if answered == nil {
		gone, kept := split(all, s.keep, s.budget)
		return &compactionResult{strategy: StrategyDelegate, gone: gone, messages: append(first, kept...)}, nil
	}
	messages, err := readMessages(answered)
	if err != nil {
		return nil, err
	}
	stands := append(first, withCurrent(all, messages)...)
	return &compactionResult{strategy: StrategyDelegate, gone: without(all, stands), messages: stands}, nil
}

// retainMessages lets plugins bring back messages and add text: docs/protocols/kaged.md, row K91.
// Both go after the messages that open the transcript, such as the summary, and before the messages
// that stayed.
func (r *run) retainMessages(ctx context.Context, s *compactionPlan, done *compactionResult) error {
	fields, _, err := r.pass(ctx, hook.CompactAfter, struct {
		Compacted []model.Message `json:"messages_being_compacted"`
		Remaining []model.Message `json:"messages_remaining"`
		Strategy  string          `json:"strategy"`
		Trigger   string          `json:"trigger"`
		SessionID string          `json:"session_id"`
	}{orEmpty(done.gone), orEmpty(done.messages), s.strategy, s.trigger, r.about.SessionID})
	if err != nil {
		return err
	}
	add, faults := readRetained(fields.Get("retain"))
	for _, fault := range faults {
		r.logger.Warn("a retained message is ignored", "point", hook.CompactAfter, "err", fault)
	}
	add = without(add, done.messages)
	if inject := adapter.Plain(fields, "inject"); strings.TrimSpace(inject) != "" {
		add = append(add, model.Message{Role: model.System, Content: inject})
	}
	done.messages = slices.Insert(done.messages, countOpening(done.messages), add...)
	return nil
}

func orEmpty(messages []model.Message) []model.Message {
	if messages == nil {
		return []model.Message{}
	}
	return messages
}
