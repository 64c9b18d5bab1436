/** For the command line, which has no Cloud TPU client itself (docs/adr/0061). */
export { TpuConnection } from '../cloud/machines/cloud-tpu/tpu-connection.js';
