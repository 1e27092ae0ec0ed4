// The router: real addresses by the History API. Links are ordinary `<a href>`; this router handles a click on one that
// leads to a page of ours, and the browser everything else (other buttons and keys, /docs, downloads).
import { pages } from '../pages.js';

function compile(path) {
  const names = [];
  const source = path.replace(/:([a-z]+)/g, (_, name) => {
    names.push(name);
    return '([^/]+)';
  });
  return { names, pattern: new RegExp(`^${source}/?$`) };
}

const routes = pages.map((page) => ({ page, ...compile(page.path) }));

function match(path) {
  for (const { page, names, pattern } of routes) {
    const found = pattern.exec(path);
    if (!found) continue;
    try {
      return { page, params: Object.fromEntries(names.map((name, i) => [name, decodeURIComponent(found[i + 1])])) };
    } catch {
      return null; // an address with a broken escape leads nowhere
    }
  }
  return null;
}

function read() {
  const found = match(location.pathname);
  return { path: location.pathname, query: new URLSearchParams(location.search), page: found?.page, params: found?.params ?? {} };
}

// The current address: path, query (URLSearchParams), page (undefined if no page has this address) and params.
export const route = $state({ now: read() });

// navigate goes to an address of ours. With replace the address replaces the current one in the history: for filters,
// so that Back leads to the page before.
export function navigate(href, { replace = false } = {}) {
  const target = new URL(href, location.href);
  const same = target.pathname === location.pathname;
  if (replace) history.replaceState(null, '', target);
  else if (target.href !== location.href) history.pushState(null, '', target);
  route.now = read();
  if (!same) arrive();
}

// setQuery changes parameters of the current address; an empty value removes a parameter.
export function setQuery(changes) {
  const query = new URLSearchParams(location.search);
  for (const [key, value] of Object.entries(changes)) {
    if (value === undefined || value === null || value === '') query.delete(key);
    else query.set(key, value);
  }
  const text = query.toString();
  navigate(location.pathname + (text ? '?' + text : ''), { replace: true });
}

// link writes an address with its segments escaped: link('plugins', name).
export function link(...segments) {
  return '/' + segments.map(encodeURIComponent).join('/');
}

// A new page begins at its top. The focus goes to its main part, so that screen readers announce it.
function arrive() {
  scrollTo(0, 0);
  document.getElementById('main')?.focus({ preventScroll: true });
}

function follow(event) {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const anchor = event.target.closest?.('a[href]');
  if (!anchor || anchor.target || anchor.hasAttribute('download') || anchor.origin !== location.origin) return;
  if (!match(anchor.pathname) || anchor.hash) return;
  event.preventDefault();
  navigate(anchor.href);
}

// startRouter handles clicks and the browser's Back and Forward. It returns a function that stops it.
export function startRouter() {
  const back = () => (route.now = read());
  document.addEventListener('click', follow);
  addEventListener('popstate', back);
  return () => {
    document.removeEventListener('click', follow);
    removeEventListener('popstate', back);
  };
}
