'use strict';
const { require: loaded, ...others } = require('../.mocharc.json');

// As .mocharc.json, of sources that scripts/compile-tests.ts has compiled (docs/adr/0133).
module.exports = { ...others, require: loaded.map((name) => (name === 'tsx' ? './test/compiled-sources.cjs' : name)) };
