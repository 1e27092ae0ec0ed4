// Functions about a trace: an event that went through plugins, {id, session_id, turn, time, outcome}.

// micros returns the microseconds of a time such as 2026-11-16T16:39:13.739118532Z. Date has only milliseconds.
export function micros(time) {
  const fraction = /\.(\d+)/.exec(time)?.[1] ?? '';
  return Math.floor(Date.parse(time) / 1000) * 1e6 + Number((fraction + '000000').slice(0, 6));
}

// The result of a step or an event, for its colour: 'bad', 'stopped', 'changed' or 'same'.
export function mark(step) {
  if (step.error) return 'bad';
  if (step.verdict !== 'continue') return 'stopped';
  return step.changed ? 'changed' : 'same';
}

export const failed = (outcome) => outcome.steps.some((step) => step.error);
export const hostOf = (trace) => trace.host || trace.outcome?.payload?.host || '';

// The host, if it is worth showing: most sessions over HTTP are those of this page.
export const named = (host) => (host === 'http' ? '' : host);

// spans says when each step began and ended, in microseconds: [{from, to}]. A live event does not say when its steps
// began: they are drawn one after the other up to its end.
export function spans(trace) {
  const { steps } = trace.outcome;
  if (trace.began) {
    const begin = micros(trace.began);
    return steps.map((step) => ({ from: begin + step.start_us, to: begin + step.start_us + step.duration_us }));
  }
  let at = micros(trace.time) - steps.reduce((sum, step) => sum + step.duration_us, 0);
  return steps.map((step) => {
    const from = at;
    at += step.duration_us;
    return { from, to: at };
  });
}

// took returns how long the plugins took for the event.
export function took(trace) {
  if (trace.took_us !== undefined) return trace.took_us;
  const all = spans(trace);
  return all.length ? Math.max(...all.map((one) => one.to)) - Math.min(...all.map((one) => one.from)) : 0;
}

// summary returns what a row of a long list needs, without the payload, because ten thousand of them are kept.
export function summary(id, type, data) {
  const one = { id: String(id), type, time: data.time ?? data.created_at ?? new Date().toISOString(), session: data.session_id ?? '', turn: data.turn ?? '', host: '', steps: [] };
  if (type !== 'point') return { ...one, point: type, text: telling(type, data) };
  const { point, verdict, steps, reason, payload } = data.outcome;
  return {
    ...one,
    host: hostOf(data),
    point,
    verdict,
    failed: failed(data.outcome),
    took: took(data),
    steps: steps.map((step) => ({ plugin: step.plugin, dialect: step.dialect, mark: mark(step) })),
    text: short(reason || about(payload)),
  };
}

const short = (value) => (typeof value === 'string' ? value : JSON.stringify(value) ?? '').slice(0, 160);

// about describes an event in a few words.
function about(payload) {
  if (!payload) return '';
  const { tool, message, user_message, text, command, user_text } = payload;
  return tool ?? message ?? user_message ?? text ?? command ?? user_text ?? '';
}

function telling(type, data) {
  const name = data.plugin ?? data.name ?? data.agent ?? data.tool?.name ?? data.title ?? data.id ?? '';
  const rest = data.text ?? data.state ?? data.detail ?? data.event ?? data.error ?? data.result?.status ?? '';
  return short([name, rest].filter((part) => typeof part === 'string' && part).join(' · '));
}

const copy = (value) => JSON.parse(JSON.stringify(value));

// payloadBefore returns the payload before a step: the final payload without the changes of that step and of all later
// ones.
export function payloadBefore(outcome, index) {
  const payload = copy(outcome.payload ?? {});
  for (const step of outcome.steps.slice(index).reverse()) {
    for (const { path, old } of [...(step.diff ?? [])].reverse()) put(payload, path, old);
  }
  return payload;
}

// put sets the value at a JSON Pointer; undefined removes it.
function put(target, pointer, value) {
  const parts = pointer.split('/').slice(1).map((part) => part.replace(/~1/g, '/').replace(/~0/g, '~'));
  const last = parts.pop();
  let at = target;
  for (const part of parts) {
    at = at?.[part];
    if (at === null || typeof at !== 'object') return;
  }
  if (last === undefined) return;
  if (value !== undefined) at[last] = copy(value);
  else if (Array.isArray(at)) at.splice(Number(last), 1);
  else delete at[last];
}
