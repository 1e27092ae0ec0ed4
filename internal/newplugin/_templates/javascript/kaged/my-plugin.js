#!/usr/bin/env node
// @ts-check
// my-plugin is a kaged plugin: it stores notes for the agent, and gives them to the model when a
// session starts. It reads messages from stdin, one line of JSON each, and writes messages to
// stdout. Log messages go to stderr. manifest.yaml declares what it offers.
'use strict';

const readline = require('node:readline');

/** @typedef {{jsonrpc: '2.0', id?: number | string, method?: string, params?: any, result?: any, error?: {message: string}}} Message */
/** @typedef {(method: string, params: object) => Promise<any>} Ask sends a request to the host. */

/** @param {Ask} ask @returns {Promise<string[]>} */
async function notes(ask) {
  return (await ask('kaged.storage.get', { key: 'notes' })).value ?? [];
}

/**
 * The answers, by method: <plugin>.<tool> for tools, kaged.hook.<hook> for hooks.
 * @type {Record<string, (params: any, ask: Ask) => unknown>}
 */
const answers = {
  initialize: () => ({
    name: 'my-plugin',
    version: '0.1.0',
    api_version: 1,
    methods: [],
    notifications: [],
    capabilities_used: ['kaged:storage:read', 'kaged:storage:write'],
  }),
  'health.check': () => ({ ok: true }),
  shutdown: () => ({}),

  async 'my-plugin.add'({ text }, ask) {
    if (typeof text !== 'string') throw new Error('text is missing, or not a string');
    await ask('kaged.storage.put', { key: 'notes', value: [...(await notes(ask)), text] });
    return 'kept';
  },
  'my-plugin.list': (params, ask) => notes(ask),

  // The model gets the text that it injects.
  async 'kaged.hook.on_session_start'(params, ask) {
    const all = await notes(ask);
    return all.length > 0 ? { inject: ['Notes from earlier:', ...all.map((note) => `- ${note}`)].join('\n') } : null;
  },
};

/**
 * Answers a request.
 * @param {Message} request @param {Ask} ask @returns {Promise<{result: unknown} | {error: {code: number, message: string}}>}
 */
async function answer({ method = '', params = {} }, ask) {
  if (!Object.hasOwn(answers, method)) return { error: { code: -32601, message: 'unknown method' } };
  try {
    return { result: (await answers[method](params, ask)) ?? null };
  } catch (err) {
    return { error: { code: -32000, message: err instanceof Error ? err.message : String(err) } };
  }
}

/** Answers requests until the host sends shutdown or closes stdin. */
function serve() {
  /** @type {Map<unknown, (answer: Message) => void>} */
  const asked = new Map();
  let count = 0; // of requests to the host
  let last = Promise.resolve(); // the last request: they are answered one after another, so that two do not change the notes at once

  /** @param {object} message */
  const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');

  /** @type {Ask} */
  const ask = (method, params) =>
    new Promise((resolve, reject) => {
      const id = `ask-${++count}`;
      asked.set(id, ({ result, error }) => (error ? reject(new Error(error.message)) : resolve(result)));
      send({ id, method, params });
    });

  readline.createInterface({ input: process.stdin }).on('line', (line) => {
    /** @type {Message} */
    let message;
    try {
      message = Object(JSON.parse(line));
    } catch {
      send({ id: null, error: { code: -32700, message: 'this is not JSON' } });
      return;
    }
    if (message.method === undefined) {
      asked.get(message.id)?.(message);
      asked.delete(message.id);
      return;
    }
    if (message.id === undefined) return; // a notification needs no answer
    last = last.then(async () => {
      send({ id: message.id, ...(await answer(message, ask)) });
      if (message.method === 'shutdown') process.stdin.destroy(); // then nothing keeps Node running, and the plugin ends
    });
  });
}

module.exports = { answer };
if (require.main === module) serve();
