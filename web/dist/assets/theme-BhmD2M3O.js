try {
  const kept = localStorage.getItem('patchbay.theme');
  if (kept === 'light' || kept === 'dark') document.documentElement.dataset.theme = kept;
} catch {
}
