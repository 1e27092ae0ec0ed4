#!/usr/bin/env node
// @ts-check
// my-plugin is an MCP server with one tool, which counts words. It needs only Node. It reads
// messages from stdin, one line of JSON each, and writes answers to stdout. Log messages go to
// stderr.
'use strict';

const readline = require('node:readline');

/** @typedef {{jsonrpc: '2.0', id?: number | string, method: string, params?: any}} Message */
/** @typedef {{description: string, inputSchema: object, call: (args: any) => string}} Tool */

/**
 * The tools, by name. If call throws, the error is the answer.
 * @type {Record<string, Tool>}
 */
const tools = {
  count: {
    description: 'Count the words, lines and characters of a text',
    inputSchema: {
      type: 'object',
      required: ['text'],
      properties: { text: { type: 'string', description: 'The text' } },
    },
    call({ text }) {
      if (typeof text !== 'string') throw new Error('text is missing, or not a string');
      const words = text.split(/\s+/).filter(Boolean).length;
      const lines = text.split('\n').length - (text === '' || text.endsWith('\n') ? 1 : 0);
      return `words: ${words}, lines: ${lines}, characters: ${[...text].length}`;
    },
  },
};

/** @param {Tool} tool @param {object} args */
function call(tool, args) {
  try {
    return { content: [{ type: 'text', text: tool.call(args) }], isError: false };
  } catch (err) {
    return { content: [{ type: 'text', text: String(err instanceof Error ? err.message : err) }], isError: true };
  }
}

/** @param {Message} message */
function answer({ method, params = {} }) {
  switch (method) {
    case 'initialize': // with the client's version of the protocol: the messages used here are the same in all versions
      return {
        result: {
          protocolVersion: params.protocolVersion ?? '2025-06-18',
          capabilities: { tools: {} },
          serverInfo: { name: 'my-plugin', version: '0.1.0' },
        },
      };
    case 'ping':
      return { result: {} };
    case 'tools/list':
      return { result: { tools: Object.entries(tools).map(([name, { description, inputSchema }]) => ({ name, description, inputSchema })) } };
    case 'tools/call':
      if (Object.hasOwn(tools, params.name)) return { result: call(tools[params.name], params.arguments ?? {}) };
      return { error: { code: -32602, message: 'there is no such tool' } };
  }
  return { error: { code: -32601, message: 'unknown method' } };
}

/** @param {string} line */
function handle(line) {
  /** @type {Message} */
  let message;
  try {
    message = Object(JSON.parse(line));
  } catch {
    send({ id: null, error: { code: -32700, message: 'this is not JSON' } });
    return;
  }
  if (message.id !== undefined) send({ id: message.id, ...answer(message) }); // a notification needs no answer
}

/** @param {object} message */
function send(message) {
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
}

module.exports = { answer, tools };
if (require.main === module) readline.createInterface({ input: process.stdin }).on('line', handle);
