'use strict';
const { join, relative, resolve } = require('node:path');
const { fileURLToPath, pathToFileURL } = require('node:url');

// In `npm test` and in the programs that its tests start (own-program.ts): of each source what scripts/compile-tests.ts made of it is
// loaded, without tsx (docs/adr/0133).
const ROOT = resolve(__dirname, '..');
const COMPILED = join(ROOT, 'node_modules/.cache/jobctl-tests');
const fileOf = (path) => join(COMPILED, relative(ROOT, resolve(path)).replace(/\.ts$/, '.js'));
const isSource = (url) => url.startsWith(pathToFileURL(ROOT).href) && url.endsWith('.ts');

globalThis.jobctlCompiledSources = {
  fileOf,
  // Where a module imports what it knows only as it runs, its copy asks here.
  moduleOf: (url) => (isSource(`${url}`) ? pathToFileURL(fileOf(fileURLToPath(url))).href : url),
};

// Temporal's SDK requires converters by the paths that it is given (worker/workflow-code.ts).
require.extensions['.ts'] = (module, path) => {
  module.exports = require(fileOf(path));
};
