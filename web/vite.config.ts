import { defineConfig } from "vite";

// FABRICD: address of a running fabricd for `npm run dev`.
const target = process.env.FABRICD ?? "http://127.0.0.1:9419";

export default defineConfig({
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: {
    target: "es2022",
    // The page's Content-Security-Policy allows no inline scripts and no data: addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: { proxy: { "/v1": target } },
  test: { include: ["src/**/*.test.ts"] },
} as never);
