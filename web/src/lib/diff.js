// The differences between two values, in a form for people: see components/Changes.svelte.

const text = (value) => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));

// differing returns the part in which two texts differ: {before, old, now, after}, where before and after are common.
// It does not split words, so that the marked text can be read.
export function differing(a, b) {
  const words = (s) => s.match(/\s+|[\p{L}\p{N}_]+|./gsu) ?? [];
  const [x, y] = [words(a), words(b)];
  const { head, tail } = common(x, y);
  const join = (list, from, to) => list.slice(from, to).join('');
  return {
    before: join(x, 0, head),
    old: join(x, head, x.length - tail),
    now: join(y, head, y.length - tail),
    after: join(x, x.length - tail, x.length),
  };
}

function common(x, y) {
  const most = Math.min(x.length, y.length);
  let head = 0;
  while (head < most && x[head] === y[head]) head++;
  let tail = 0;
  while (tail < most - head && x[x.length - 1 - tail] === y[y.length - 1 - tail]) tail++;
  return { head, tail };
}

// lines compares two values line by line: [{kind: 'same' | 'old' | 'new' | 'fold', text | count}], with two common
// lines around each difference. A value that is undefined has no lines.
export function lines(old, now) {
  const [x, y] = [rows(old), rows(now)];
  const ends = [x, y].map((list) => (list.at(-1) === '' ? list.slice(0, -1) : list)); // a newline at the end makes no line
  return fold(JSON.stringify(ends[0]) === JSON.stringify(ends[1]) ? align(x, y) : align(...ends));
}

const rows = (value) => (value === undefined || value === '' ? [] : text(value).split('\n'));

// align finds the longest list of common lines. If that would take long, everything between the first and the last
// difference counts as changed.
function align(x, y) {
  const { head, tail } = common(x, y);
  const [a, b] = [x.slice(head, x.length - tail), y.slice(head, y.length - tail)];
  const middle = a.length * b.length > 250_000 ? whole(a, b) : longest(a, b);
  const same = (line) => ({ kind: 'same', text: line });
  return [...x.slice(0, head).map(same), ...middle, ...x.slice(x.length - tail).map(same)];
}

const whole = (a, b) => [...a.map((line) => ({ kind: 'old', text: line })), ...b.map((line) => ({ kind: 'new', text: line }))];

function longest(a, b) {
  const width = b.length + 1;
  const table = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i * width + j] = a[i] === b[j] ? table[(i + 1) * width + j + 1] + 1 : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
    }
  }
  const found = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      found.push({ kind: 'same', text: a[i] });
      i++;
      j++;
    } else if (j >= b.length || (i < a.length && table[(i + 1) * width + j] >= table[i * width + j + 1])) {
      found.push({ kind: 'old', text: a[i++] });
    } else {
      found.push({ kind: 'new', text: b[j++] });
    }
  }
  return found;
}

function fold(all, around = 2) {
  const near = all.map((_, i) => all.slice(Math.max(0, i - around), i + around + 1).some((line) => line.kind !== 'same'));
  const out = [];
  for (let i = 0; i < all.length; i++) {
    if (near[i]) {
      out.push(all[i]);
      continue;
    }
    const last = out.at(-1);
    if (last?.kind === 'fold') last.count++;
    else out.push({ kind: 'fold', count: 1 });
  }
  return out;
}
