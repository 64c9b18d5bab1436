import type { Timings } from '../../domain/timings.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { FullPool, type Hosts } from './full-pool.js';

/** Hooks of a `describe`: a pool of its own, which one job fills. @param use gets it when it is there */
export function withFullPool(
  pool: string,
  use: (full: FullPool) => void,
  timings?: Partial<Timings>,
  hosts?: Hosts,
): void {
  let full: FullPool | undefined;
  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    full = await FullPool.start(pool, timings, hosts);
    use(full);
  });
  afterEach(() => full?.release());
  after(() => full?.stack.stop());
}
