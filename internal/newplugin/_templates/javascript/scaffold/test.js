// @ts-check
// Tests of my-plugin: node --test test.js
'use strict';

const assert = require('node:assert');
const { spawnSync } = require('node:child_process');
const path = require('node:path');
const test = require('node:test');

const { answer, hooks, tools } = require('./my-plugin');

test('initialize returns its manifest', () => {
  assert.strictEqual(/** @type {any} */ (answer({ jsonrpc: '2.0', id: 1, method: 'initialize' })).result.name, 'my-plugin');
});

test('count counts', () => {
  assert.strictEqual(tools.count({ text: 'to be or not to be' }), 'words: 6, lines: 1, characters: 18');
  assert.throws(() => tools.count({}), /text is missing/);
});

test('the date is in the context', () => {
  const { dynamic_context } = hooks.context_enhance({ user_message: 'hi', dynamic_context: 'before' });
  assert.match(String(dynamic_context), /^before\n\n# Date\nToday is \d{4}-\d\d-\d\d\.$/);
});

test('it speaks the protocol', () => {
  const lines = ['{"jsonrpc":"2.0","method":"no/such","params":{},"id":1}', 'no JSON', '{"jsonrpc":"2.0","method":"shutdown","params":{},"id":2}'];
  const plugin = spawnSync(path.join(__dirname, 'my-plugin'), { input: lines.join('\n') + '\n', encoding: 'utf8' });
  const [unknown, garbled, last] = plugin.stdout.trim().split('\n').map((line) => JSON.parse(line));
  assert.strictEqual(unknown.error.code, -32601);
  assert.strictEqual(garbled.error.code, -32700);
  assert.deepStrictEqual(last, { jsonrpc: '2.0', id: 2, result: { ok: true } });
  assert.strictEqual(plugin.status, 0);
});
