// The calls and events that were sent from this page, newest first: {id, kind: 'tool' or 'point', name, input, at,
// took, ok, answer, error}. They are stored nowhere, because the input may be a secret: they last until the page is
// closed. last is the id of the newest one, also while it runs; logs are the lines that its plugin wrote meanwhile, by
// id.
import { post } from './api.js';
import { link } from './router.svelte.js';

const most = 50;
const mostLines = 50;
export const sent = $state({ list: [], last: 0, logs: {} });

// run sends a call or an event, adds it to the list, and returns the entry. An error of the API is in the entry, as error.
export async function run(kind, name, input) {
  const began = performance.now();
  const entry = { id: ++sent.last, kind, name, input, at: new Date().toISOString() };
  try {
    entry.answer = kind === 'tool' ? await post(link('v1', 'tools', name, 'call'), { arguments: input, trace: true }) : await post('/v1/fire', { point: name, data: input, trace: true });
    entry.ok = kind === 'tool' ? entry.answer.success : entry.answer.verdict !== 'deny' && !entry.answer.steps.some((step) => step.error);
  } catch (error) {
    entry.error = error;
    entry.ok = false;
  }
  entry.took = (performance.now() - began) * 1000;
  sent.list = [entry, ...sent.list].slice(0, most);
  return entry;
}

// wrote stores a line that a plugin wrote while its tool was called, or just after.
export function wrote(id, line) {
  sent.logs[id] = [...(sent.logs[id] ?? []), line].slice(-mostLines);
}

export function forget() {
  sent.list = [];
  sent.logs = {};
}

// places finds the fields that an error of arguments names: {FIELD: message}. Errors that belong to no field are at ''.
// The API writes "… does not take these arguments: who: is required; loud: must be of type boolean, is string".
export function places(error, schema) {
  const list = /does not take these arguments: ([\s\S]*)$/.exec(error?.message ?? '')?.[1];
  if (!list) return {};
  const errors = {};
  for (const part of list.split('; ')) {
    const [, path, message] = /^([^\s:]+): ([\s\S]*)$/.exec(part) ?? [];
    const known = path && Object.hasOwn(schema?.properties ?? {}, path.split('.')[0]);
    const at = known ? path : '';
    const words = known ? sentence(message) : sentence(part);
    errors[at] = errors[at] ? `${errors[at]} ${words}` : words;
  }
  return errors;
}

const sentence = (text) => (/^(is|must) /.test(text) ? 'This ' : '') + (/^(is|must) /.test(text) ? text : text[0].toUpperCase() + text.slice(1)) + (/[.!?]$/.test(text) ? '' : '.');
