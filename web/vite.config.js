import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';

import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

// Comments that fill whole lines are neither built nor part of dist/sources.sha256, so changing one needs no new build.
const withoutComments = (text) =>
  text
    .replace(/<!--[^]*?-->/g, '')
    .replace(/^[ \t]*\/\/.*$/gm, '')
    .replace(/\n+/g, '\n');

// The theme is chosen by a script that runs before anything is painted, so that no page flashes in the wrong colours.
// It must be a separate file, because the Content-Security-Policy allows no script inside the page.
function themeFirst() {
  const source = withoutComments(readFileSync(new URL('./src/theme.js', import.meta.url), 'utf8')).trimStart();
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

// Svelte's errors name a page on the web. It is removed, so that a test can check that the build names no other host.
const noHosts = {
  name: 'no-hosts',
  apply: 'build',
  renderChunk: (code) => ({ code: code.replaceAll('https://svelte.dev/e/', 'svelte: '), map: null }),
};

// dist/sources.sha256 says which sources were built, so that a test in Go, without npm, notices a forgotten build.
// dist_test.go computes it in the same way.
const sourcesHash = {
  name: 'sources-hash',
  apply: 'build',
  generateBundle() {
    const names = readdirSync('src', { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => `${entry.parentPath}/${entry.name}`);
    names.push('index.html', 'package.json', 'package-lock.json', 'svelte.config.js', 'vite.config.js');
    const sum = createHash('sha256');
    for (const name of names.sort()) {
      sum.update(`${name}\n${withoutComments(readFileSync(name, 'utf8'))}\n`);
    }
    this.emitFile({ type: 'asset', fileName: 'sources.sha256', source: sum.digest('hex') + '\n' });
  },
};

// For `npm run dev`: a daemon answers the API requests, and refuses requests from other origins.
const daemon = {
  target: process.env.PATCHBAY_URL ?? 'http://127.0.0.1:8000',
  configure(proxy) {
    proxy.on('proxyReq', (request) => {
      request.removeHeader('origin');
      request.setHeader('host', new URL(daemon.target).host);
    });
  },
};

// The build depends only on the content of these files, so that two builds of the same sources have the same bytes.
export default defineConfig({
  plugins: [svelte(), themeFirst(), noHosts, sourcesHash],
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
