import { readFileSync } from 'node:fs';

import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

// The theme is chosen by a script that runs before anything is painted, so that no page flashes in the wrong colours.
// It must be a file of its own: the Content-Security-Policy allows no script inside the page.
function themeFirst() {
  const source = readFileSync(new URL('./src/theme.js', import.meta.url), 'utf8');
  let reference;
  return {
    name: 'theme-first',
    buildStart() {
      if (this.meta.watchMode) return;
      reference = this.emitFile({ type: 'asset', name: 'theme.js', source });
    },
    transformIndexHtml: {
      order: 'post',
      handler(html, context) {
        const file = context.bundle
          ? Object.values(context.bundle).find((one) => one.names?.includes('theme.js')).fileName
          : 'src/theme.js';
        return [{ tag: 'script', attrs: { src: '/' + file }, injectTo: 'head-prepend' }];
      },
    },
  };
}

// Svelte's errors name a page on the web. Nothing in the build names another host, so that a test can hold us to it.
const noHosts = {
  name: 'no-hosts',
  apply: 'build',
  renderChunk: (code) => ({ code: code.replaceAll('https://svelte.dev/e/', 'svelte: '), map: null }),
};

// For `npm run dev`: what the API answers comes from a daemon, which refuses requests of other origins.
const daemon = {
  target: process.env.PATCHBAY_URL ?? 'http://127.0.0.1:8000',
  configure(proxy) {
    proxy.on('proxyReq', (request) => {
      request.removeHeader('origin');
      request.setHeader('host', new URL(daemon.target).host);
    });
  },
};

// The build adds nothing but the content of these files, so that two builds of one source have the same bytes.
export default defineConfig({
  plugins: [svelte(), themeFirst(), noHosts],
  build: {
    target: 'es2022',
    sourcemap: false,
    assetsInlineLimit: 0, // the Content-Security-Policy allows no data: addresses
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: {
    proxy: Object.fromEntries(
      ['/v1', '/plugin/', '/session', '/feature', '/metrics', '/openapi.json', '/docs'].map((path) => [path, daemon]),
    ),
  },
});
