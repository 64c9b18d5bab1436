// Stryker's mocha runner 10.0.0 requires files of mocha without their ending, which mocha 12 spells `.cjs`.
const { Module } = require('node:module');
Module._extensions['.cjs'] ??= Module._extensions['.js'];
