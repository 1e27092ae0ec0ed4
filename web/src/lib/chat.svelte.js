// Conversations: turns that run in this page, and the turns of a transcript.
import { post } from './api.js';
import { link } from './router.svelte.js';
import { readEvents } from './stream.js';

// The turns that this page has begun, by session. A turn lasts as long as the request that began it. It is held here,
// so that it continues while another page is shown.
export const running = $state({});

// agentOf returns the other agent that a session belongs to; '' if it is one of Patchbay's own.
export const agentOf = (session) => (session?.host_session ? session.host : '');

// A turn is {turn, status, error, items, points}. Items are its messages and tool calls, in order:
//   {kind: 'user' | 'system', text}, {kind: 'assistant', text, held, done},
//   {kind: 'tool', id, name, arguments, output, result, success, by, ms, done}, {kind: 'compaction', before, after}
const fresh = (text) => ({ turn: '', status: 'began', error: null, items: [{ kind: 'user', text }], points: [] });

// say begins a turn and returns when it is over.
export async function say(session, text) {
  running[session] = fresh(text);
  const turn = running[session]; // as the page sees it change
  try {
    await readEvents(link('session', session, 'message'), {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ text }),
      onEvent: ({ type, data }) => take(turn, type, data),
    });
    if (turn.status === 'began') throw new Error('The connection ended before the turn was over.');
  } catch (error) {
    turn.error = error.message;
    turn.status = 'failed';
  }
}

// interrupt ends the turn of a session. A turn that was sent a moment ago may not have begun in the daemon yet: interrupt
// tries again for a few seconds.
export async function interrupt(session) {
  for (let tries = 0; tries < 30; tries++) {
    const { interrupted } = await post(link('session', session, 'interrupt'));
    if (interrupted || running[session]?.status !== 'began') return;
    await new Promise((done) => setTimeout(done, 150));
  }
}

// over removes a turn that has ended from the running ones: from now on it is in the transcript.
export const over = (session) => delete running[session];

function take(turn, type, data) {
  if (data?.turn) turn.turn = data.turn;
  const handler = handlers[type];
  if (handler) handler(turn, data);
}

const handlers = {
  point: (turn, data) => turn.points.push({ time: data.time, outcome: data.outcome }),
  text: (turn, { text }) => {
    const reply = open(turn);
    reply.text += text;
    reply.held = 0;
  },
  'text.held': (turn, { held }) => (open(turn).held = held),
  retry: (turn) => Object.assign(open(turn), { text: '', held: 0 }),
  reply: (turn, { text }) => Object.assign(open(turn), { text, held: 0, done: true }),
  'tool.started': (turn, { tool }) => turn.items.push({ kind: 'tool', id: tool.call_id, name: tool.name, arguments: tool.arguments, output: '', done: false }),
  'tool.output': (turn, { tool, text }) => {
    const one = call(turn, tool.call_id);
    if (one) one.output += text;
  },
  'tool.finished': (turn, { tool }) => {
    const one = call(turn, tool.call_id);
    if (one) Object.assign(one, { arguments: tool.arguments, result: tool.result, success: tool.success, by: tool.resolved_by, ms: tool.duration_ms, done: true });
  },
  compacted: (turn, { compaction }) => turn.items.push({ kind: 'compaction', before: compaction?.before, after: compaction?.messages?.length }),
  result: (turn, result) => Object.assign(turn, { status: result.status ?? 'done', error: result.error ?? (result.skipped ? result.reason : null) ?? null }),
  error: (turn, { detail }) => Object.assign(turn, { status: 'failed', error: detail }),
};

// open returns the reply that is being written.
function open(turn) {
  const last = turn.items.at(-1);
  if (last?.kind === 'assistant' && !last.done) return last;
  turn.items.push({ kind: 'assistant', text: '', held: 0, done: false });
  return turn.items.at(-1);
}

const call = (turn, id) => turn.items.findLast((one) => one.kind === 'tool' && one.id === id);

// turnsOf puts a transcript and the traces of a session together. A turn in another agent has no message
// in the transcript: its message is taken from the events that plugins were sent.
export function turnsOf(transcript, traces) {
  const turns = new Map();
  const at = (id, time) => {
    if (!turns.has(id)) turns.set(id, { turn: id, time, status: '', error: null, items: [], points: [] });
    return turns.get(id);
  };
  for (const entry of transcript) record(at(entry.turn, entry.time), entry);
  for (const trace of traces) {
    at(trace.turn, trace.time).points.push({ id: trace.id, time: trace.time, outcome: trace.outcome });
  }
  const all = [...turns.values()].sort((a, b) => Date.parse(a.time) - Date.parse(b.time));
  for (const turn of all) if (!turn.items.some((one) => one.kind === 'user')) turn.items = [...told(turn.points), ...turn.items];
  return all;
}

function record(turn, { message, compaction, status }) {
  if (status) turn.status = status;
  if (compaction) turn.items.push({ kind: 'compaction', before: compaction.before, after: compaction.messages?.length });
  if (!message) return;
  if (message.role === 'tool') {
    const one = call(turn, message.tool_call_id);
    if (one) Object.assign(one, { result: message.content, success: !message.is_error, done: true });
    return;
  }
  if (message.content) turn.items.push({ kind: message.role, text: message.content, done: true });
  for (const tool of message.tool_calls ?? []) {
    turn.items.push({ kind: 'tool', id: tool.id, name: tool.name, arguments: tool.arguments, output: '', done: false });
  }
}

// told lists the items of a turn in another agent that its events contain: its message, and its tool calls.
function told(points) {
  const items = [];
  const tools = new Map();
  for (const { outcome } of points) {
    const payload = outcome.payload ?? {};
    if (outcome.point.startsWith('tool.') && payload.tool) {
      const key = payload.call_id ?? payload.tool;
      if (!tools.has(key)) {
        tools.set(key, { kind: 'tool', id: key, name: payload.tool, arguments: payload.arguments, output: '', done: true });
        items.push(tools.get(key));
      }
      if (payload.result !== undefined) Object.assign(tools.get(key), { result: text(payload.result), success: payload.success });
      if (outcome.verdict === 'deny') Object.assign(tools.get(key), { success: false, result: outcome.reason, by: outcome.by });
    } else if (payload.user_text && !items.some((one) => one.kind === 'user')) {
      items.unshift({ kind: 'user', text: payload.user_text });
    }
    if (outcome.point === 'turn.final' && payload.text) items.push({ kind: 'assistant', text: payload.text, done: true });
  }
  return items;
}

const text = (value) => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));

// changesOf lists what plugins did in a turn: those that changed, stopped or failed something.
export function changesOf(turn) {
  return turn.points.flatMap(({ id, outcome }) =>
    outcome.steps
      .map((step, index) => ({ id, index, point: outcome.point, subject: outcome.payload?.tool ?? '', step, reason: step.verdict !== 'continue' ? outcome.reason : '' }))
      .filter(({ step }) => step.changed || step.error || step.verdict !== 'continue'),
  );
}
