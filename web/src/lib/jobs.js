// What the pages of scheduled agents share.
import { link } from './router.svelte.js';

// runLink is the address of a run, whose id is AGENT/SCHEDULE/TIME.
export const runLink = (id) => link('runs', ...id.split('/'));

export const over = (run) => run.status !== 'running' && run.status !== 'waiting';

// took is how long a run took, or has taken, in microseconds.
export function took(one, now = Date.now()) {
  if (!one.began) return undefined;
  return ((one.ended ? new Date(one.ended) : now) - new Date(one.began)) * 1000;
}

const eventOf = { ok: 'success', timed_out: 'timed_out', failed: 'attempt_failed', refused: 'attempt_failed', cut_off: 'attempt_failed' };

// events are those that a run has given, in order, as its attempts tell: [{time, event, attempt, text, suggest}].
export function events(run) {
  const all = [];
  for (const attempt of run.attempts ?? []) {
    const event = eventOf[attempt.result];
    if (!event || !attempt.ended) continue;
    const base = { time: attempt.ended, attempt: attempt.number };
    all.push({ ...base, event, text: attempt.error ?? '', suggest: attempt.suggest ?? '' });
    for (const [i, fault] of (attempt.sinks ?? []).entries()) all.push({ ...base, event: 'attempt_failed', text: fault, suggest: attempt.sink_fixes?.[i] ?? '' });
  }
  if (run.recovered) all.push({ time: run.ended, event: 'recovered', text: '', suggest: '' });
  if (run.status === 'given_up') all.push({ time: run.ended, event: 'given_up', text: run.attempts?.at(-1)?.error ?? '', suggest: '' });
  return all;
}
