// @ts-check
// Tests of my-plugin: node --test test.js
'use strict';

const assert = require('node:assert');
const { spawnSync } = require('node:child_process');
const path = require('node:path');
const test = require('node:test');

const { answer } = require('./my-plugin.js');

/** A host that stores the notes. @param {string[]} notes */
function host(notes) {
  /** @param {string} method @param {any} params */
  return async (method, params) => {
    if (method === 'kaged.storage.put') notes.splice(0, notes.length, ...params.value);
    return method === 'kaged.storage.get' ? { value: notes.length > 0 ? notes : null } : {};
  };
}

/** @param {string} method @param {object} params @param {string[]} notes @returns {Promise<any>} */
const call = (method, params, notes) => answer({ jsonrpc: '2.0', id: 1, method, params }, host(notes));

test('add adds a note after the others', async () => {
  const notes = ['tea'];
  assert.deepStrictEqual(await call('my-plugin.add', { text: 'milk' }, notes), { result: 'kept' });
  assert.deepStrictEqual(notes, ['tea', 'milk']);
});

test('add needs a text', async () => {
  assert.match((await call('my-plugin.add', {}, [])).error.message, /text is missing/);
});

test('list returns the notes', async () => {
  assert.deepStrictEqual(await call('my-plugin.list', {}, ['tea']), { result: ['tea'] });
});

test('a session starts with the notes', async () => {
  const { result } = await call('kaged.hook.on_session_start', { session_id: 's' }, ['tea']);
  assert.deepStrictEqual(result, { inject: 'Notes from earlier:\n- tea' });
  assert.deepStrictEqual(await call('kaged.hook.on_session_start', {}, []), { result: null });
});

test('it speaks the protocol', () => {
  const lines = [
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"api_version":1,"config":{}}}',
    '{"jsonrpc":"2.0","id":2,"method":"no.such"}',
    'no JSON',
    '{"jsonrpc":"2.0","id":3,"method":"shutdown"}',
  ];
  const plugin = spawnSync(path.join(__dirname, 'my-plugin.js'), { input: lines.join('\n') + '\n', encoding: 'utf8' });
  const got = plugin.stdout.trim().split('\n').map((line) => JSON.parse(line));
  const by = (/** @type {any} */ id) => got.find((message) => message.id === id);
  assert.strictEqual(by(1).result.name, 'my-plugin');
  assert.strictEqual(by(2).error.code, -32601);
  assert.strictEqual(by(null).error.code, -32700);
  assert.deepStrictEqual(by(3).result, {});
  assert.strictEqual(plugin.status, 0);
});
