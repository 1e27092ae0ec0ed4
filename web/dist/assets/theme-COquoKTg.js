// Runs before the first paint. "light" and "dark" are kept by the switch; anything else follows the system.
try {
  const kept = localStorage.getItem('patchbay.theme');
  if (kept === 'light' || kept === 'dark') document.documentElement.dataset.theme = kept;
} catch {
  // Storage can be forbidden; the system's choice then counts.
}
