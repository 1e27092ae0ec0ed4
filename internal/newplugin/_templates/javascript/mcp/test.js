// @ts-check
// Tests of my-plugin: node --test test.js
'use strict';

const assert = require('node:assert');
const { spawnSync } = require('node:child_process');
const path = require('node:path');
const test = require('node:test');

const { answer, tools } = require('./my-plugin.js');

test('it lists its tool', () => {
  const { result } = /** @type {any} */ (answer({ jsonrpc: '2.0', id: 1, method: 'tools/list' }));
  assert.deepStrictEqual(result.tools.map((/** @type {any} */ tool) => tool.name), ['count']);
});

test('count counts', () => {
  assert.strictEqual(tools.count.call({ text: 'to be or not to be' }), 'words: 6, lines: 1, characters: 18');
  assert.throws(() => tools.count.call({}), /text is missing/);
});

test('it speaks the protocol', () => {
  const lines = [
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}',
    '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    'no JSON',
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"count","arguments":{}}}',
  ];
  const server = spawnSync(path.join(__dirname, 'my-plugin.js'), { input: lines.join('\n') + '\n', encoding: 'utf8' });
  const [hello, garbled, called] = server.stdout.trim().split('\n').map((line) => JSON.parse(line));
  assert.strictEqual(hello.result.protocolVersion, '2025-06-18');
  assert.strictEqual(garbled.error.code, -32700);
  assert.strictEqual(called.result.isError, true);
});
