// Functions that the pages of scheduled agents share.
import { link } from './router.svelte.js';

// runLink returns the address of a run, whose id is AGENT/SCHEDULE/TIME.
export const runLink = (id) => link('runs', ...id.split('/'));

const listed = 20; // next runs, the most that the API tells of one schedule

// nextRuns returns the runs of the next 24 hours, for the time line; more: not all of them are listed.
export function nextRuns(job, now = Date.now()) {
  const times = job.next_runs ?? [job.next_run];
  return { times: times.filter((time) => new Date(time) - now < 24 * 3600_000), more: times.length >= listed };
}

export const over = (run) => run.status !== 'running' && run.status !== 'waiting';

// took returns how long a run took, or has taken so far, in microseconds.
export function took(one, now = Date.now()) {
  if (!one.began) return undefined;
  return ((one.ended ? new Date(one.ended) : now) - new Date(one.began)) * 1000;
}

const eventOf = { ok: 'success', timed_out: 'timed_out', failed: 'attempt_failed', refused: 'attempt_failed', cut_off: 'attempt_failed' };

// events lists what happened in a run, in order, from its attempts: [{time, event, attempt, text, suggest}].
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
