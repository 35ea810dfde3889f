import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

import { hashes } from './build/hashes';

// The servers send `default-src 'self'` and allow nothing inline: no data: addresses, no script in the document.
export default defineConfig({
  plugins: [svelte(), hashes()],
  base: './',
  test: { include: ['src/**/*.test.ts'] },
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
