export const ZONES = ['us-central1-a', 'us-east1-d'];

/** A job on a gang of two Spot VMs. */
export const vmJob = (run: string, over: object = {}): object => ({
  name: 'vms',
  compute_engine: { machine_type: 'n2-standard-4', count: 2, zones: ZONES },
  command: { run },
  ...over,
});
