// The time axis of a waterfall. Plugins take microseconds and models take seconds: with `fold`, times in which no
// plugin works are drawn short, so that the plugins' work is visible.

// timescale gets the spans [{from, to}] and returns {at(time) in 0…1, ticks: [{x, label}], folds: [{x, width, us}]}.
export function timescale(spans, { fold = true } = {}) {
  const busy = merge(spans);
  if (!busy.length) return { at: () => 0, ticks: [], folds: [] };
  const work = busy.reduce((sum, one) => sum + one.to - one.from, 0) || 1;
  const short = fold ? work * 0.06 : Infinity;
  const pieces = [];
  let width = 0;
  busy.forEach((one, i) => {
    const gap = i ? one.from - busy[i - 1].to : 0;
    if (gap) {
      const folded = gap > short;
      pieces.push({ from: busy[i - 1].to, to: one.from, start: width, width: folded ? short : gap, folded });
      width += folded ? short : gap;
    }
    pieces.push({ from: one.from, to: one.to, start: width, width: one.to - one.from });
    width += one.to - one.from;
  });
  const total = width || 1;
  const at = (time) => {
    const piece = pieces.find((one) => time <= one.to) ?? pieces.at(-1);
    const share = piece.to > piece.from ? (time - piece.from) / (piece.to - piece.from) : 0;
    return Math.max(0, Math.min(1, (piece.start + share * piece.width) / total));
  };
  const folds = pieces.filter((one) => one.folded).map((one) => ({ x: one.start / total, width: one.width / total, us: one.to - one.from }));
  return { at, folds, ticks: ticks(busy[0].from, pieces, total) };
}

function merge(spans) {
  const out = [];
  for (const { from, to } of [...spans].sort((a, b) => a.from - b.from)) {
    const last = out.at(-1);
    if (last && from <= last.to) last.to = Math.max(last.to, to);
    else out.push({ from, to });
  }
  return out;
}

// ticks returns the time since the beginning at a few places of the drawing, at even distances.
function ticks(begin, pieces, total, many = 5) {
  return Array.from({ length: many }, (_, i) => {
    const place = (i / (many - 1)) * total;
    const piece = pieces.find((one) => place <= one.start + one.width) ?? pieces.at(-1);
    const share = piece.width ? (place - piece.start) / piece.width : 0;
    return { x: i / (many - 1), us: piece.from + share * (piece.to - piece.from) - begin };
  });
}
