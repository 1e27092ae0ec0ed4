// Calculations of the page Pipeline: the order of plugins at a point, and the priorities that make another order.
// A draft holds the changes that are not written yet: {priority: {PLUGIN: n}, connect: [], disconnect: []},
// where the lists have {plugin, dialect, hook, point}. PLUGIN is the plugin's reference (lib/plugins.js).

// The API accepts priorities up to this number, above and below 0.
const limit = 1_000_000;
const step = 10; // how far apart priorities are put where there is room

export const emptyDraft = () => ({ priority: {}, connect: [], disconnect: [] });

export const sameWire = (a, b) => a.plugin === b.plugin && a.dialect === b.dialect && a.hook === b.hook && a.point === b.point;

// arrange returns the points with the draft applied. Each plugin gets was (its priority in force), fresh (connected in
// the draft) and leaving (disconnected in the draft).
export function arrange(points, draft, reference) {
  return points.map((point) => {
    const there = point.plugins.map((one) => ({ ...one, point: point.point }));
    const added = draft.connect.filter((one) => one.point === point.point && !there.some((other) => sameWire(one, other))).map((one) => ({ ...one, fresh: true, connected: true }));
    const plugins = [...there, ...added].map((one, index) => {
      const ref = reference(one);
      return { ...one, ref, index, was: one.priority, priority: draft.priority[ref] ?? one.priority, leaving: draft.disconnect.some((other) => sameWire(one, other)) };
    });
    return { ...point, plugins: plugins.sort((a, b) => a.priority - b.priority || a.index - b.index) };
  });
}

// order names the plugins of a point, each once: all hooks of a plugin have its priority, and so move together.
const order = (plugins) => [...new Map(plugins.map((one) => [one.ref, one])).values()];

// move returns the priorities that put a plugin at another place among those of a point: {PLUGIN: n}, as few as
// possible; null if it is there already. place is the number of other plugins before it.
export function move(plugins, ref, place) {
  const now = order(plugins);
  const moved = now.find((one) => one.ref === ref);
  const rest = now.filter((one) => one.ref !== ref);
  const wanted = [...rest.slice(0, place), moved, ...rest.slice(place)];
  if (wanted.every((one, i) => one === now[i])) return null;
  if (inOrder(wanted.map((one) => (one === moved ? { ...one, priority: one.was } : one)))) return { [ref]: moved.was };
  return spread(wanted, keep(wanted, moved));
}

const before = (a, b) => a.priority < b.priority || (a.priority === b.priority && a.index < b.index);
const inOrder = (list) => list.every((one, i) => i === 0 || before(list[i - 1], one));

// fits reports whether two plugins can keep their priorities if a number of other plugins, which get new priorities, must
// come between them.
const fits = (a, b, between) => (between ? b.priority - a.priority > between : before(a, b));

// keep finds the largest set of plugins that can keep their priorities, and returns their places in the list, with the
// two ends of all priorities. If there is a choice, the moved plugin gets a new priority.
function keep(wanted, moved) {
  const all = [{ priority: -limit - 1, index: -1 }, ...wanted, { priority: limit + 1, index: Infinity }];
  const best = [{ cost: 0, from: -1 }];
  for (let j = 1; j < all.length; j++) {
    best[j] = { cost: Infinity, from: -1 };
    for (let i = 0; i < j; i++) {
      if (!fits(all[i], all[j], j - i - 1)) continue;
      const changed = all.slice(i + 1, j);
      const cost = best[i].cost + changed.length - (changed.includes(moved) ? 0.5 : 0);
      if (cost < best[j].cost) best[j] = { cost, from: i };
    }
  }
  const kept = [];
  for (let j = all.length - 1; j >= 0; j = best[j].from) kept.unshift(j);
  return { all, kept };
}

function spread(wanted, { all, kept }) {
  const next = {};
  for (let k = 1; k < kept.length; k++) {
    const [low, high] = [kept[k - 1], kept[k]];
    const many = high - low - 1;
    for (let i = 1; i <= many; i++) next[all[low + i].ref] = between(all[low].priority, all[high].priority, i, many);
  }
  return next;
}

// between returns the i-th of several numbers at even distances between two others. Next to an end of all priorities
// the distance is at most step.
function between(low, high, i, many) {
  const gap = Math.floor((high - low) / (many + 1));
  if (high > limit) return low + Math.min(gap, step) * i;
  if (low < -limit) return high - Math.min(gap, step) * (many + 1 - i);
  return low + gap * i;
}

// changesOf returns a draft in the form of POST /v1/config/changes.
export const changesOf = (draft, reference) => [
  ...Object.entries(draft.priority).map(([plugin, value]) => ({ set: 'priority', plugin, value })),
  ...['disconnect', 'connect'].flatMap((set) => draft[set].map((one) => ({ set, plugin: reference(one), hook: one.hook, point: one.point }))),
];

// openTo lists the hooks that can be connected to a point and are not there yet; hooksOf lists all hooks.
export const hooksOf = (connectable) => connectable.flatMap(({ plugin, dialect, hooks }) => hooks.map(({ hook, points }) => ({ plugin, dialect, hook, points })));
export const takes = (point, one) => one.points.includes(point.point) && !point.plugins.some((other) => sameWire({ ...one, point: point.point }, { ...other, point: point.point }));
