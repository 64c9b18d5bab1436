/** Every workflow type of jobctl, by the name it is started under. The worker bundles this file. */
export { build } from './build.js';
export { firing } from './firing.js';
export { group } from './group.js';
export { janitor } from './janitor.js';
export { job } from './job.js';
export { machines } from './machines.js';
export { notices } from './notices.js';
export { quota } from './quota.js';
export { slice } from './slice.js';
