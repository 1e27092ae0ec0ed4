// Parts that belong to the page as a whole: the theme, toasts, and questions before something is done.

export const toasts = $state([]);
let number = 0;

// toast shows a message at the edge of the page. Errors stay until they are closed.
export function toast(text, { kind = 'ok' } = {}) {
  const one = { id: ++number, text, kind };
  toasts.push(one);
  if (kind !== 'bad') setTimeout(() => dismiss(one.id), 4000);
}

export function dismiss(id) {
  const index = toasts.findIndex((one) => one.id === id);
  if (index >= 0) toasts.splice(index, 1);
}

export const question = $state({ now: null });

// confirm asks before something is done and returns true or false: await confirm({title, text, action: 'Delete',
// danger: true}). keep is the text of the other button.
export function confirm({ title, text = '', action = 'Go on', keep = 'Cancel', danger = false }) {
  return new Promise((resolve) => {
    question.now = { title, text, action, keep, danger, resolve };
  });
}

export function answer(yes) {
  question.now?.resolve(yes);
  question.now = null;
}

export const theme = $state({ choice: document.documentElement.dataset.theme ?? 'system' });

// setTheme stores 'light', 'dark' or 'system' for the next visit.
export function setTheme(choice) {
  theme.choice = choice;
  if (choice === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = choice;
  try {
    if (choice === 'system') localStorage.removeItem('patchbay.theme');
    else localStorage.setItem('patchbay.theme', choice);
  } catch {
    // The browser may forbid storage: then the choice lasts until the page is closed.
  }
}
