// Functions about plugins that several pages use.
import { get, post } from './api.js';

// change writes settings of plugins into the configuration, in the form of POST /v1/config/changes, and returns what
// changed.
export const change = (changes, { preview = false, base } = {}) => post('/v1/config/changes', { changes, preview, ...(base ? { base } : {}) });

export const enable = (plugin, value) => change([{ set: 'enabled', plugin, value }]);
export const restart = (plugin) => post(`/v1/plugins/${encodeURIComponent(plugin)}/restart`).then(working);
export const makeExecutable = (plugin) => post(`/v1/plugins/${encodeURIComponent(plugin)}/executable`).then(working);

// working throws an error if a plugin was started and does not run: the API's answer contains its state.
function working(plugin) {
  if (plugin.state === 'broken') throw new Error(plugin.error || `${plugin.name} does not start.`);
  return plugin;
}

// latencies returns {NAME: [microseconds…]} for sparklines; an empty object if they cannot be read, because they are
// not essential.
export const latencies = (options) => get('/v1/latencies', options).then((answer) => answer.plugins ?? {}, () => ({}));

// standing returns the state of a plugin, or that of its process if it says more: restarting, failing.
export const standing = ({ state, health }) => (state === 'ready' && ['restarting', 'failing'].includes(health) ? health : state);

// The states, the most urgent one first.
const order = { broken: 0, unsupported: 1, ready: 2, skipped: 3, disabled: 4 };

export const byAttention = (a, b) => (order[a.state] ?? 9) - (order[b.state] ?? 9) || a.name.localeCompare(b.name);

// reference returns the name of a plugin in addresses. If two dialects have a plugin of the same name, it contains the
// dialect.
export function reference(plugin, all = []) {
  const others = all.filter((one) => one.name === plugin.name);
  return others.length > 1 ? `${plugin.dialect}:${plugin.name}` : plugin.name;
}

// offers says what a plugin takes part in, in a few words: its hooks, tools and so on.
export function offers(plugin) {
  return [...(plugin.hooks ?? []), ...(plugin.tools ?? []), ...(plugin.commands ?? []), ...(plugin.methods ?? [])];
}
