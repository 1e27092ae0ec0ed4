// What several pages do with plugins.
import { get, post } from './api.js';

// change writes settings of plugins into the configuration, as POST /v1/config/changes takes them, and answers what changed.
export const change = (changes, { preview = false, base } = {}) => post('/v1/config/changes', { changes, preview, ...(base ? { base } : {}) });

export const enable = (plugin, value) => change([{ set: 'enabled', plugin, value }]);
export const restart = (plugin) => post(`/v1/plugins/${encodeURIComponent(plugin)}/restart`).then(working);
export const makeExecutable = (plugin) => post(`/v1/plugins/${encodeURIComponent(plugin)}/executable`).then(working);

// working throws where a plugin was started and does not run: the API answers with how it stands.
function working(plugin) {
  if (plugin.state === 'broken') throw new Error(plugin.error || `${plugin.name} does not start.`);
  return plugin;
}

// latencies are {NAME: [microseconds…]}, for sparklines; none where they cannot be had: nothing hangs on them.
export const latencies = (options) => get('/v1/latencies', options).then((answer) => answer.plugins ?? {}, () => ({}));

// standing is the state of a plugin, or how its process is where that says more: restarting, failing.
export const standing = ({ state, health }) => (state === 'ready' && ['restarting', 'failing'].includes(health) ? health : state);

// The order in which states ask for a person's attention.
const order = { broken: 0, unsupported: 1, ready: 2, skipped: 3, disabled: 4 };

export const byAttention = (a, b) => (order[a.state] ?? 9) - (order[b.state] ?? 9) || a.name.localeCompare(b.name);

// reference is what a plugin is called in addresses. Two dialects may each have a plugin of one name; then its dialect is part of it.
export function reference(plugin, all = []) {
  const others = all.filter((one) => one.name === plugin.name);
  return others.length > 1 ? `${plugin.dialect}:${plugin.name}` : plugin.name;
}

// offers says what a plugin takes part in, in a few words: its hooks, tools and so on.
export function offers(plugin) {
  return [...(plugin.hooks ?? []), ...(plugin.tools ?? []), ...(plugin.commands ?? []), ...(plugin.methods ?? [])];
}
