// @ts-check
// Tests of my-plugin: node --test test.js
'use strict';

const assert = require('node:assert');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const test = require('node:test');

const { invoke, validate } = require('./dotagent-plugin-my-plugin');

test('a config needs a path that is not a directory', () => {
  assert.deepStrictEqual(validate({ path: '~/notes.md' }), { ok: true });
  assert.throws(() => validate({ path: '/' }), /is a directory/);
  assert.throws(() => validate(/** @type {any} */ ({})), /path is missing/);
});

test('a message is stored under a heading', (t) => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'my-plugin-'));
  t.after(() => fs.rmSync(dir, { recursive: true }));
  const file = path.join(dir, 'new', 'kept.md');
  const reply = invoke({ kind: 'sink', agent: 'a', schedule: 'daily', event: 'success', message: 'one\ntwo\n', config: { path: file } });
  assert.deepStrictEqual(reply, { ok: true, written_to: file });
  assert.match(fs.readFileSync(file, 'utf8'), /^## a\/daily, \d{4}-\d\d-\d\d \d\d:\d\d\n\none\ntwo\n\n$/);
});

test('it speaks the protocol', () => {
  const program = path.join(__dirname, 'dotagent-plugin-my-plugin');
  assert.deepStrictEqual(JSON.parse(spawnSync(program, ['info'], { encoding: 'utf8' }).stdout).kinds, ['sink']);
  const reply = JSON.parse(spawnSync(program, ['validate'], { input: 'no JSON', encoding: 'utf8' }).stdout);
  assert.strictEqual(reply.ok, false);
  assert.strictEqual(spawnSync(program, ['no-such-verb']).status, 2);
});
