// Data of the API that a page shows: the data, the error of the last attempt, and a function to read it again.
import { live, onEvents } from './live.svelte.js';

// resource calls read({signal}) now, whenever the state that read uses changes, when the connection comes back, and
// shortly after an event of the types in `on` for which `when` returns true; `every` is a number of milliseconds after
// which it reads again. Call it while a component is set up.
//   const plugins = resource(({ signal }) => get('/v1/plugins', { signal }), { on: ['plugin.'] });
//   plugins.data, plugins.error, plugins.loading, plugins.reload()
// The old data stays until the new data is read, so that nothing moves.
export function resource(read, { on, when, every } = {}) {
  const state = $state({ data: undefined, error: undefined, loading: true });
  let again = $state(0);
  let timer;

  $effect(() => {
    again;
    live.returns;
    const stop = new AbortController();
    state.loading = true;
    Promise.resolve(read({ signal: stop.signal })).then(
      (data) => {
        if (stop.signal.aborted) return;
        state.data = data;
        state.error = undefined;
        state.loading = false;
      },
      (error) => {
        if (stop.signal.aborted) return;
        state.error = error;
        state.loading = false;
      },
    );
    return () => stop.abort();
  });

  $effect(() => {
    if (!on) return;
    const soon = (event) => {
      if (when && !when(event)) return;
      timer ??= setTimeout(() => {
        timer = undefined;
        again++;
      }, 100);
    };
    const off = onEvents(on, soon);
    return () => {
      off();
      clearTimeout(timer);
      timer = undefined;
    };
  });

  $effect(() => {
    if (!every) return;
    const tick = setInterval(() => document.hidden || again++, every);
    return () => clearInterval(tick);
  });

  return {
    get data() {
      return state.data;
    },
    set data(value) {
      state.data = value;
    },
    get error() {
      return state.error;
    },
    get loading() {
      return state.loading;
    },
    reload() {
      again++;
    },
  };
}
