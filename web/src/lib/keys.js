// The keys of the page: `g` and a letter goes to a page, `/` goes to the filter, `?` shows this list.
import { navigate } from './router.svelte.js';
import { pages } from '../pages.js';

export const jumps = pages.filter((page) => page.nav).map((page) => ({ key: page.nav.key, path: page.path, title: page.title }));

function typing(target) {
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.shadowRoot;
}

// startKeys listens for keys until the function that it returns is called.
export function startKeys({ onHelp }) {
  let waiting;
  const press = (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    if (document.querySelector('dialog[open]')) return;
    if (waiting) {
      clearTimeout(waiting);
      waiting = undefined;
      const jump = jumps.find((one) => one.key === event.key);
      if (jump) {
        event.preventDefault();
        navigate(jump.path);
      }
      return;
    }
    if (event.key === 'g') waiting = setTimeout(() => (waiting = undefined), 1500);
    else if (event.key === '?') onHelp();
    else if (event.key === '/') {
      const field = document.querySelector('[data-filter]');
      if (!field) return;
      event.preventDefault();
      field.focus();
      field.select?.();
    }
  };
  addEventListener('keydown', press);
  return () => removeEventListener('keydown', press);
}
