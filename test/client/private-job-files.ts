/**
 * Job files of every kind of machines in which everything that is the user's is one of `words`: names, paths, addresses, keys of
 * maps, commands. What else they hold is public, or jobctl's.
 */
export function privateJobFiles(words: readonly string[]): Readonly<Record<string, object>> {
  const word = (index: number): string => words[index % words.length] ?? '';
  const [a, b, c, d, e, f] = [0, 1, 2, 3, 4, 5].map(word) as [string, string, string, string, string, string];
  const common = {
    name: `${a}-${b}`,
    project: `${c}.${d}`,
    user: `${d}@${e}.org`,
    priority: 2,
    env: { [a.toUpperCase()]: b, [`${b.toUpperCase()}_1`]: '${name}', PIN: 48_151_623 },
    secrets: { [`${c.toUpperCase()}_KEY`]: `${d}-${e}` },
    command: { run: `python3 ${a}.py --data /mnt/${b} # ${c}`, workers: 'all', success: 'first', restart_on: [75] },
    hooks: { success: `echo ${d}`, preemption: { run: `./${e}.sh`, timeout: '10s' } },
    outputs: { paths: [`${a}/*.${b}`, `${c}`], every: '5m' },
    timeouts: { run: '90m', no_output: '30m' },
    keep: { when: 'on-failure', for: '2h' },
    max_unattended: 'never',
    notify: { on: ['ended', 'preempted'], to: { workflow: { id: `${f}-7`, signal: `${f}Ended` } } },
  };
  const modules = {
    setup: { modules: ['ssh', 'gcsfuse', 'docker', 'files', `own-${a}`, 'command'] },
    ssh: { private_key: `~/.ssh/${a}`, identities: [{ private_key: `${b}/id_${c}`, public_key: `${b}/id_${c}.pub` }] },
    gcsfuse: { bucket_name: `${a}-${b}`, mount_path: `~/${c}` },
    docker: {
      image: `us-docker.pkg.dev/${a}/${b}/${c}:${d}`,
      env_vars: [`${e.toUpperCase()}=${f}`],
      mount_dirs: [`/mnt/${f}`],
    },
    files: [{ from: `./${a}.json`, to: `~/${b}.json` }],
    modules: { [`own-${a}`]: { check: `test -e ${b}`, setup: [{ name: `${c}`, run: `echo ${d}` }] } },
  };
  return {
    'Cloud TPU': {
      ...common,
      ...modules,
      tpu: {
        accelerator: 'v5litepod-8',
        zones: ['us-central1-a', 'europe-west4-b'],
        name: `${a}-${f}`,
        version: 'v2-alpha-tpuv5-lite',
        pricing: 'spot',
        project: `${a}-${b}-1`,
        labels: { [a]: b },
        metadata: { [`enable-${c}`]: d },
        tags: [`${e}-in`],
        network: `projects/${a}-shared/global/networks/${b}`,
        subnetwork: c,
        service_account: `${a}@${b}-${c}.iam.gserviceaccount.com`,
        scopes: ['https://www.googleapis.com/auth/cloud-platform', 'compute-rw'],
        startup_script: `mount ${d}`,
      },
    },
    'a reservation': {
      ...common,
      setup: { modules: ['venv', 'command'] },
      venv: { name: a, python: 'python3', requirements_file: `${b}/${c}.txt` },
      tpu: {
        accelerator: 'v4-8',
        zone: 'us-central2-b',
        pricing: 'reserved',
        network: `projects/${a}-shared/global/networks/${b}`,
        subnetwork: `projects/${a}-shared/regions/us-central2/subnetworks/${c}`,
        reservation: `projects/${a}-${b}/locations/us-central2-b/reservations/${c}`,
        data_disks: [{ source: `projects/${a}-${b}/zones/us-central2-b/disks/${d}`, mode: 'read-only' }],
      },
    },
    'flags of gcloud': {
      ...common,
      tpu: {
        accelerator: 'v5litepod-8',
        zone: 'us-central1-a',
        flags: [
          ...['--spot', `--network=${a}-${b}`, '--scopes=cloud-platform', `--tags=${c},${d}`, `--labels=${e}=${f}`],
          `--data-disk=source=projects/${a}-${b}/zones/us-central1-a/disks/${c},mode=read-only`,
          `--service-account=${a}-${c}@${b}-${d}.iam.gserviceaccount.com`,
        ],
      },
    },
    'Compute Engine': {
      ...common,
      compute_engine: {
        machine_type: 'a2-highgpu-1g',
        zones: ['us-central1-a'],
        image: `projects/${a}-${b}/global/images/family/${c}`,
        network: d,
        data_disks: [{ source: e }],
      },
    },
    machines: { ...common, machines: { hosts: 2, accelerator: 'h100', count: 16, labels: { [c]: d } } },
    Kubernetes: {
      name: common.name,
      command: { run: `python3 ${a}.py` },
      kubernetes: {
        workers: 2,
        image: `registry.${a}.org:5000/${b}/${c}@sha256:${'0123456789abcdef'.repeat(4)}`,
        namespace: `${d}-${e}`,
        cpus: 4,
        memory: '16Gi',
        gpus: 8,
        gpu_type: 'h100',
        node_selector: { [`${a}.org/${b}`]: c },
        tolerations: [{ key: a, value: b, effect: 'NoSchedule' }],
        volumes: [{ mount_path: `/${c}`, claim: d }],
        service_account: e,
      },
    },
  };
}
