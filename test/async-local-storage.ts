import { AsyncLocalStorage } from 'node:async_hooks';

// Code of workflows finds this class as a global in Temporal's sandbox. Tests that run parts of it outside need it as well, and
// before the SDK is loaded: it looks once.
Object.assign(globalThis, { AsyncLocalStorage });

// `npx mocha` is not how the commands under test were typed (cli/terminal/print.ts).
delete process.env['npm_command'];
