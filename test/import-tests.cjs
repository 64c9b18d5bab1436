'use strict';
const { join, resolve } = require('node:path');
const { pathToFileURL } = require('node:url');

// Mocha 12 loads test files by `require` where Node can load ECMAScript modules so. What the product then imports lazily
// (`await import()`) would be there a second time, with a state of its own: a quarter of the CPU time of `npm test`
// (docs/adr/0110). Mocha has no option for it.
const loading = require(join(require.resolve('mocha'), '../lib/nodejs/esm-utils.cjs'));
const { requireOrImport } = loading;
// Of compiled sources too mocha calls a test by the name of its source.
const { fileOf = resolve } = globalThis.jobctlCompiledSources ?? {};
loading.requireOrImport = (file, ...more) =>
  file.endsWith('.ts') ? import(pathToFileURL(fileOf(file)).href) : requireOrImport(file, ...more);
