// What the page's code is checked for beside its types. How it is laid out is prettier's business.
import js from "@eslint/js";
import reactHooks from "eslint-plugin-react-hooks";
import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

export default defineConfig(
  globalIgnores(["dist", "src/api/schema.d.ts"]),
  js.configs.recommended,
  {
    files: ["**/*.{ts,tsx}"],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    plugins: { "react-hooks": reactHooks },
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      // The others of this plugin are for React's compiler, which the page is not built with, and took a third of the time.
      "react-hooks/rules-of-hooks": "error",
      "react-hooks/exhaustive-deps": "error",

      // `() => set(x)` and `return stop()` are short, and clear where nothing is expected.
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true }],
      // A number in a text is what it looks like.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      // `||` is meant where an empty text, zero or false count as nothing.
      "@typescript-eslint/prefer-nullish-coalescing": ["error", { ignorePrimitives: true }],

      // Older browsers, newer daemons and what happens during an `await` are not in the types.
      "@typescript-eslint/no-unnecessary-condition": "off",
      // It would have `x!` written, which another rule forbids.
      "@typescript-eslint/non-nullable-type-assertion-style": "off",
      // Loops over the characters of long text are by index because that is faster.
      "@typescript-eslint/prefer-for-of": "off",
      // Control characters in what agents print are what is looked for.
      "no-control-regex": "off",
      // A slow one, and all that it finds is `navigator.platform`, which has no successor in every browser.
      "@typescript-eslint/no-deprecated": "off",
      // There are no enums.
      "@typescript-eslint/no-unsafe-enum-assignment": "off",
    },
  },
  {
    files: ["**/*.test.{ts,tsx}"],
    rules: {
      // The shortest stand-in for what answers later, or fails later, is an `async` function.
      "@typescript-eslint/require-await": "off",
    },
  },
  {
    files: ["**/*.{js,mjs}"],
    languageOptions: { globals: { console: "readonly", process: "readonly", URL: "readonly" } },
  },
);
