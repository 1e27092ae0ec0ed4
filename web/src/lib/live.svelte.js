// The events of the daemon as they happen: one stream of /v1/events for the whole page.
import { untrack } from 'svelte';

import { follow } from './stream.js';

// live.state: 'connecting' | 'open' | 'lost'. live.returns counts how often the stream came back. Then pages read their
// data again (see resource.svelte.js).
export const live = $state({ state: 'connecting', since: 0, returns: 0 });

const listeners = new Set();
let last;

// onEvents calls fn({id, type, data}) for each event whose type is in types (all of them if types is left out; a type
// that ends in `.` stands for all that begin with it). Use it in an $effect: it returns a function that stops it.
export function onEvents(types, fn) {
  const entry = { types, fn };
  listeners.add(entry);
  return () => listeners.delete(entry);
}

function wants(types, type) {
  return !types || types.some((one) => one === type || (one.endsWith('.') && type.startsWith(one)));
}

function deliver(event) {
  if (event.id !== undefined) last = event.id;
  for (const { types, fn } of [...listeners]) if (wants(types, event.type)) fn(event);
}

function changed(state) {
  if (state === live.state) return;
  if (state === 'open' && live.since) live.returns++;
  if (state === 'open' || live.state === 'open') live.since = Date.now();
  live.state = state;
}

// A browser opens only six connections to one host. A hidden tab closes its stream after a minute, and reads the
// events that it missed when it is shown again.
const hiddenFor = 60_000;

// startLive opens the stream and returns a function that closes it.
export function startLive() {
  // Untracked: an effect that starts this must not run again, and open another stream, when the state changes.
  let stop = untrack(() => follow('/v1/events', { onEvent: deliver, onState: changed }));
  let timer;
  const visibility = () => {
    clearTimeout(timer);
    if (document.hidden) {
      timer = setTimeout(() => {
        stop();
        stop = null;
      }, hiddenFor);
    } else if (!stop) {
      stop = follow('/v1/events', { onEvent: deliver, onState: changed, after: last });
    }
  };
  document.addEventListener('visibilitychange', visibility);
  return () => {
    document.removeEventListener('visibilitychange', visibility);
    clearTimeout(timer);
    stop?.();
  };
}
