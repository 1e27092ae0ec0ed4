// @ts-check
// Tests of my-plugin: node --test test.js
'use strict';

const assert = require('node:assert');
const { spawnSync } = require('node:child_process');
const path = require('node:path');
const test = require('node:test');

const { answer } = require('./my-plugin.js');

/** @param {string[]} args */
const call = (args) => ({
  protocol_version: '1.0.0',
  type: 'hook',
  stage: 'preexec',
  mode: 'transform',
  context: { command: 'git', args, flags: {}, result: null, timestamp: '2026-01-15T10:30:00Z' },
});

test('a forced push gets --force-with-lease', () => {
  assert.deepStrictEqual(JSON.parse(answer(call(['push', '--force', 'origin']))).context.args, ['push', '--force-with-lease', 'origin']);
  assert.deepStrictEqual(JSON.parse(answer(call(['push', '-f']))).context.args, ['push', '--force-with-lease']);
});

test('another command is not changed', () => {
  assert.strictEqual(answer(call(['status', '--force'])), '');
});

test('another protocol is refused', () => {
  const input = JSON.stringify({ ...call([]), protocol_version: '2.0.0' });
  const plugin = spawnSync(path.join(__dirname, 'my-plugin.js'), { input, encoding: 'utf8' });
  assert.strictEqual(JSON.parse(plugin.stderr).code, 'UNSUPPORTED_PROTOCOL');
  assert.strictEqual(plugin.status, 1);
});

test('health is ok', () => {
  const input = '{"protocol_version":"1.0.0","type":"lifecycle","event":"health"}';
  const plugin = spawnSync(path.join(__dirname, 'my-plugin.js'), { input, encoding: 'utf8' });
  assert.deepStrictEqual(JSON.parse(plugin.stdout), { status: 'ok' });
});
