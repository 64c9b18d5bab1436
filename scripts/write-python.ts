import { writeFileSync } from 'node:fs';
import { pythonRoutes, ROUTES_FILE } from './python-routes.js';

/** Writes the Python client's routes from contract/operations.ts (test/python/core.test.ts compares). */
writeFileSync(ROUTES_FILE, pythonRoutes());
process.stdout.write(`${ROUTES_FILE}\n`);
