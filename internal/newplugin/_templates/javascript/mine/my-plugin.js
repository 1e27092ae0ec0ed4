#!/usr/bin/env node
// @ts-check
// my-plugin is a mine plugin: it turns `git push --force` into `git push --force-with-lease`, which
// never overwrites commits that you have not fetched. It is started for each call, with one JSON
// object on stdin. mine-plugin.toml declares its hooks.
'use strict';

const fs = require('node:fs');

/** @typedef {{command: string, args: string[], flags: Record<string, string>, result: any, timestamp: string}} Context */
/** @typedef {{protocol_version: string, type: string, stage?: string, mode?: string, event?: string, context: Context}} Call */

/**
 * The hooks, by stage. Each returns the changed command; without an answer the command runs unchanged. If one throws,
 * the command is refused.
 * @type {Record<string, (context: Context) => Context | undefined>}
 */
const hooks = {
  preexec(context) {
    if (context.args[0] !== 'push') return undefined;
    const args = context.args.map((arg) => (arg === '--force' || arg === '-f' ? '--force-with-lease' : arg));
    return { ...context, args };
  },
};

/** @param {Call} call @returns {string} the answer for stdout */
function answer(call) {
  if (!String(call.protocol_version).startsWith('1.')) throw fault('UNSUPPORTED_PROTOCOL', 'unsupported protocol version');
  if (call.type === 'lifecycle') return JSON.stringify({ status: 'ok' }); // init, shutdown, health
  if (call.type !== 'hook') throw fault('BAD_CALL', 'unknown type');
  const context = Object.hasOwn(hooks, call.stage ?? '') ? hooks[call.stage ?? ''](call.context) : undefined;
  return context === undefined ? '' : JSON.stringify({ status: 'ok', context });
}

/** @param {string} code @param {string} message */
const fault = (code, message) => Object.assign(new Error(message), { code });

function main() {
  try {
    process.stdout.write(answer(JSON.parse(fs.readFileSync(0, 'utf8'))));
  } catch (err) {
    const { message, code } = /** @type {any} */ (err);
    process.stderr.write(JSON.stringify({ status: 'error', error: String(message), code: code ?? 'FAILED' }) + '\n');
    process.exitCode = 1;
  }
}

module.exports = { answer };
if (require.main === module) main();
