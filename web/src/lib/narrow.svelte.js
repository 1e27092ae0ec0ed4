// Says whether the window is narrower than a number of pixels, kept up to date. Call it while a component is set up.
export function narrow(pixels) {
  const query = matchMedia(`(max-width: ${pixels}px)`);
  let now = $state(query.matches);
  $effect(() => {
    const tell = () => (now = query.matches);
    query.addEventListener('change', tell);
    return () => query.removeEventListener('change', tell);
  });
  return {
    get now() {
      return now;
    },
  };
}
