// Server-sent events over fetch. The browser's own EventSource cannot send a body and does not say why it failed.
import { send } from './api.js';

// A page that the user has left stays in the browser's memory for a while, for Back, together with its streams. A
// browser opens only six connections to one host, so the streams are closed when the user leaves the page, and opened
// again when the page is back.
let leaving = new AbortController();
let back = Promise.resolve();
addEventListener('pagehide', () => {
  leaving.abort();
  leaving = new AbortController();
  back = new Promise((shown) => addEventListener('pageshow', shown, { once: true }));
});

// readEvents reads one stream to its end and calls onEvent({id, type, data}) for each event, data parsed from JSON. It
// throws the errors of send if the stream cannot be opened, and an Error if it breaks off.
export async function readEvents(path, { onEvent, onOpen, headers = {}, signal, ...options }) {
  await back;
  const either = signal ? AbortSignal.any([signal, leaving.signal]) : leaving.signal;
  const response = await send(path, { ...options, signal: either, headers: { Accept: 'text/event-stream', ...headers } });
  onOpen?.();
  const parse = parser(onEvent);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    parse(value);
  }
}

// parser parses the text of a stream in pieces, as they arrive.
export function parser(onEvent) {
  let rest = '';
  let event = { id: undefined, type: 'message', lines: [] };
  const flush = () => {
    if (event.lines.length) onEvent({ id: event.id, type: event.type, data: decode(event.lines.join('\n')) });
    event = { id: undefined, type: 'message', lines: [] };
  };
  const take = (line) => {
    if (line === '') return flush();
    if (line[0] === ':') return;
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1));
    if (field === 'data') event.lines.push(value);
    else if (field === 'event') event.type = value;
    else if (field === 'id') event.id = value;
  };
  return (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop();
    for (const line of lines) take(line.endsWith('\r') ? line.slice(0, -1) : line);
  };
}

function decode(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

// follow keeps a stream open: after a break it connects again with the id of the last event, so that no event is
// missed. onState is called with 'connecting', 'open' or 'lost'. follow returns a function that closes the stream.
export function follow(path, { onEvent, onState = () => {}, after }) {
  const stop = new AbortController();
  let last = after;
  const run = async () => {
    let wait = 500;
    while (!stop.signal.aborted) {
      try {
        await readEvents(path, {
          signal: stop.signal,
          headers: last === undefined ? {} : { 'Last-Event-ID': last },
          onOpen: () => {
            wait = 500;
            onState('open');
          },
          onEvent: (event) => {
            if (event.id !== undefined) last = event.id;
            onEvent(event);
          },
        });
      } catch (error) {
        if (stop.signal.aborted) return;
        onState('lost', error);
      }
      if (stop.signal.aborted) return;
      onState('lost');
      await pause(wait, stop.signal);
      wait = Math.min(wait * 2, 5000);
    }
  };
  onState('connecting');
  run();
  return () => stop.abort();
}

// pause waits; it ends early if the page is shown again or the network is back.
function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const done = (event) => {
      if (event?.type === 'visibilitychange' && document.hidden) return;
      clearTimeout(timer);
      removeEventListener('online', done);
      document.removeEventListener('visibilitychange', done);
      resolve();
    };
    const timer = setTimeout(() => done(), milliseconds);
    addEventListener('online', done);
    document.addEventListener('visibilitychange', done);
    signal.addEventListener('abort', done);
  });
}
