'use strict';
const { reporters } = require('mocha');

/** Mocha's `spec` output, closed by one line that a script can read: `N passed, M failed`. */
module.exports = class ClosingLine extends reporters.Spec {
  epilogue() {
    super.epilogue();
    const { passes, failures, pending } = this.stats;
    console.log(`${passes} passed, ${failures} failed${pending > 0 ? `, ${pending} skipped` : ''}`);
  }
};
