// How the page is built, served while it is worked on, and tested.
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The daemon that `npm run dev` talks to. It only answers pages of its own origin, so the
// proxy speaks in its name.
const daemon = process.env.SWITCHYARD_URL ?? "http://127.0.0.1:7433";
// With a token the page needs no login while it is worked on.
const token = process.env.SWITCHYARD_TOKEN;

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob: data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "dist",
    assetsDir: "assets",
    // A data: URL for a small file would need a looser Content-Security-Policy.
    assetsInlineLimit: 0,
    // Every browser with trusted types and <dialog> preloads modules by itself.
    modulePreload: { polyfill: false },
    target: "es2022",
  },
  server: {
    port: Number(process.env.PORT ?? 5173),
    proxy: {
      "/v1": {
        target: daemon,
        changeOrigin: true,
        ws: true,
        headers: { origin: daemon, ...(token && { authorization: `Bearer ${token}` }) },
        configure: (proxy) => {
          // Left to itself the proxy keeps a stream open that the daemon has lost.
          proxy.on("proxyRes", (from, _, to) => from.on("close", () => from.complete || to.destroy()));
        },
      },
    },
  },
  preview: {
    port: Number(process.env.PORT ?? 5174),
    // As strict as the daemon is, so that what it would refuse is seen here.
    headers: { "Content-Security-Policy": POLICY },
  },
  test: {
    // What draws says so itself; the rest needs no browser.
    environment: "node",
    // Making a new environment for every file takes longer than the tests in it. What a test
    // leaves behind it therefore clears away itself.
    isolate: false,
    // Properties are tried many times, on machines that have other things to do.
    testTimeout: 60_000,
    include: ["src/**/*.test.{ts,tsx}"],
  },
});
