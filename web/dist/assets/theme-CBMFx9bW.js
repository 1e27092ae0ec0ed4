// Runs before the first paint. The switch stores "light" or "dark"; anything else follows the system.
try {
  const kept = localStorage.getItem('patchbay.theme');
  if (kept === 'light' || kept === 'dark') document.documentElement.dataset.theme = kept;
} catch {
  // The browser may forbid storage; then the system's choice counts.
}
