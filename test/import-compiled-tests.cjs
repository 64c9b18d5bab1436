'use strict';
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');
require('./compiled-sources.cjs');

// As import-tests.cjs, of compiled sources. Mocha goes on to call the tests by the names of their sources.
const loading = require(join(require.resolve('mocha'), '../lib/nodejs/esm-utils.cjs'));
const { requireOrImport } = loading;
const { fileOf } = globalThis.jobctlCompiledSources;
loading.requireOrImport = (file, ...more) =>
  file.endsWith('.ts') ? import(pathToFileURL(fileOf(file)).href) : requireOrImport(file, ...more);
