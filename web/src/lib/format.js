// How times, durations and sizes are written, the same on every page.

// duration of microseconds: 850 µs, 12.3 ms, 1.24 s, 3 min 20 s.
export function duration(us) {
  if (us === undefined || us === null) return '';
  if (us < 1000) return `${Math.round(us)} µs`;
  if (us < 1e6) return `${digits(us / 1000)} ms`;
  if (us < 60e6) return `${digits(us / 1e6)} s`;
  return span(us / 1000);
}

const digits = (value) => (value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : value.toFixed(0));

// span of milliseconds, in the two largest units: 3 min 20 s, 2 h 5 min, 3 d 4 h.
export function span(ms) {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return join(minutes, 'min', seconds % 60, 's');
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return join(hours, 'h', minutes % 60, 'min');
  return join(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

const join = (a, unitA, b, unitB) => (b ? `${a} ${unitA} ${b} ${unitB}` : `${a} ${unitA}`);

// ago and until say how far a time is from now: "3 min ago", "in 2 h 5 min".
export function ago(time, now = Date.now()) {
  const ms = now - new Date(time);
  if (ms < 0) return ms > -1500 ? 'now' : `in ${span(-ms)}`; // now may be a second old
  return ms < 1500 ? 'just now' : `${span(ms)} ago`;
}

const clockFormat = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
const dateFormat = new Intl.DateTimeFormat(undefined, {
  year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23',
});

// clock: 14:03:59. moment: the date too.
export const clock = (time) => (time ? clockFormat.format(new Date(time)) : '');
export const moment = (time) => (time ? dateFormat.format(new Date(time)) : '');

export function bytes(n) {
  if (n < 1024) return `${n} B`;
  if (n < 1024 * 1024) return `${digits(n / 1024)} KiB`;
  return `${digits(n / 1024 / 1024)} MiB`;
}

// count: "1 plugin", "3 plugins".
export const count = (n, one, many = one + 's') => `${n.toLocaleString('en')} ${n === 1 ? one : many}`;
