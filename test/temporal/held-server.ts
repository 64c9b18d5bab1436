// A process of mocha's pool with a Temporal server of its own, whose pid it prints.
import '../root-hooks.js';
import { startTestServer } from '../temporal-server.js';

const { pid } = await startTestServer();
console.log(pid);
setInterval(() => undefined, 60_000);
