import type { DocCommand } from './commands.js';

interface Some {
  readonly begins: RegExp;
  /** Only on pages that match; without it on all. */
  readonly page?: RegExp;
}

/** Commands of the documentation that no test runs, and what they need: the only ones. Each must occur. */
export const LEFT_OUT: readonly (Some & { readonly needs: string })[] = [
  {
    page: /google-cloud|operations|compute-engine/u,
    begins: /^(P=my-project|H=\$\(gcloud|gcloud )/u,
    needs: 'a Google Cloud project; test/long/real-cloud.test.ts with one',
  },
  {
    page: /kubernetes|docs\/build/u,
    begins: /^(jobctl doctor --kubernetes|kubectl )/u,
    needs: 'a Kubernetes cluster; test/long/kubernetes has one',
  },
  { page: /performance/u, begins: /^npm run bench$/u, needs: 'six minutes of a quiet computer' },
  { begins: /^npx jobctl submit --set venv.requirements_file=train-jax/u, needs: 'TPU hardware' },
  { page: /own-machines/u, begins: /^(ssh-copy-id|for slot)/u, needs: 'a machine of one’s own, and its root' },
  { page: /login|ssh-fleet/u, begins: /^jobctl ssh \S+ --identity/u, needs: 'a host with OS Login' },
  { begins: /^ssh -fN/u, needs: 'a virtual machine of a Google Cloud project' },
  {
    page: /operations/u,
    begins:
      /^(sudo (git|ln|cp|useradd|ssh-keygen|tee|systemctl daemon-reload)|curl -s http:\/\/127.0.0.1:9090\/ready|journalctl)/u,
    needs: 'root on a virtual machine of a Google Cloud project',
  },
  {
    begins:
      /^((sudo )?docker compose|echo COMPOSE_FILE|(sudo )?cp .env.example|sed -i "s\/\^POSTGRES|ssh-keygen -t ed25519|sudo systemctl stop|for db in)/u,
    needs:
      'the four containers of docker-compose.yml; docs/deployment.md and docs/operations.md say what was run by hand',
  },
];

/** Commands that another test runs, because they take a checkout, containers or a registry. Each must occur, as must the test. */
export const RUN_ELSEWHERE: readonly (Some & { readonly by: string })[] = [
  {
    begins:
      /^(sudo jobctl setup api-keys|mkdir -p server-config|cp -r deploy\/worker|sudo chown -R 1000|echo JOBCTL_CONFIG_DIR)/u,
    by: 'test/security/h13-compose-folders.test.ts',
  },
  {
    begins: /^npm ci($| && npx jobctl submit)/u,
    by: '.ci/run',
  },
  {
    page: /docs\/kubernetes/u,
    begins: /^(npx jobctl submit --local|eval "\$\(npx jobctl rehearsal env)/u,
    by: 'test/long/kubernetes/first-run.test.ts',
  },
  { page: /doctor/u, begins: /^jobctl (contract|doctor .*--record)/u, by: 'test/doctor/contract.live.test.ts' },
  { page: /CONTRIBUTING/u, begins: /^JOBCTL_RECORDINGS=/u, by: 'test/cloud/recordings.test.ts' },
  { page: /own-machines/u, begins: /^jobctl dev up --machines/u, by: 'test/end-to-end/own-machine-down.live.test.ts' },
  { page: /operations/u, begins: /^sudo jobctl setup job-keys/u, by: 'test/cli/job-keys.test.ts' },
  { page: /docs\/pool-file/u, begins: /^jobctl validate/u, by: 'test/security/f09-allowed-choices.test.ts' },
  { page: /docs\/quota/u, begins: /^jobctl quota validate tiers/u, by: 'test/cli/quota-files.test.ts' },
  {
    page: /docs\/stores/u,
    begins: /^jobctl (setup server|worker|doctor --server)/u,
    by: 'test/temporal/setup-server.test.ts',
  },
  { page: /docs\/access/u, begins: /^jobctl audit log/u, by: 'test/cli/server-context.test.ts' },
  { page: /docs\/(login|http-api)/u, begins: /^(TOKEN=\$\()?jobctl login/u, by: 'test/login/login.test.ts' },
  { page: /docs\/http-api/u, begins: /^(curl|jq) /u, by: 'test/server/job-text.test.ts' },
  {
    page: /docs\/machines/u,
    begins: /^(npm run new:kind|npx tsc|npx mocha)/u,
    by: 'test/architecture/new-kind.test.ts',
  },
  { page: /docs\/notify/u, begins: /^jobctl notify test/u, by: 'test/end-to-end/notify.live.test.ts' },
  { page: /own-machines/u, begins: /^jobctl (quota apply|machines)/u, by: 'test/long/own-machines/jobs.test.ts' },
  { page: /own-machines/u, begins: /^export CUDA_VISIBLE_DEVICES=/u, by: 'test/hosts/gone-gpus.test.ts' },
  { page: /docs\/kubernetes/u, begins: /^(tr , |deepspeed --no_ssh)/u, by: 'test/long/real-libraries.test.ts' },
  { page: /docs\/ray/u, begins: /^(\. ~\/\.jobctl\/runs\/|ray status)/u, by: 'test/long/ray.test.ts' },
  { begins: /^npm (pack|install jobctl|install @jobctl)/u, by: 'test/long/packages.test.ts' },
  { page: /CONTRIBUTING/u, begins: /^(npm (ci|test|run)|\.ci\/run|npx mocha)/u, by: '.ci/run' },
  { page: /CONTRIBUTING/u, begins: /^python3 python\/write/u, by: 'test/python/package.test.ts' },
  { begins: /^npm ci && npm test/u, by: '.ci/run' },
  { begins: /^npm run chaos/u, by: '.ci/long' },
  // The page on a real installation, in its own order.
  {
    page: /docs\/(security|serve)/u,
    begins: /^(jobctl|curl|node deploy|TEMPORAL_API_KEY=)/u,
    by: 'test/long/security/walk.test.ts',
  },
  { begins: /^npx mocha test\/incidents/u, by: 'test/incidents/incidents.test.ts' },
  { begins: /^promtool/u, by: 'test/long/alerts.test.ts' },
  {
    begins: /^(npx tsx scripts\/replay-open-workflows|jobctl setup server --activate)/u,
    by: 'test/long/upgrade/rolling.test.ts',
  },
  {
    page: /python-http/u,
    begins: /^(python3 -m venv|export JOBCTL_SERVER|venv\/bin)/u,
    by: 'test/long/python.test.ts',
  },
  { begins: /^pip install jobctl/u, by: 'test/long/python.test.ts' },
  {
    page: /examples\/\w+-service/u,
    begins: /^(python3 -m venv|venv\/bin|npm )/u,
    by: 'test/long/contract-examples.test.ts',
  },
  // The package's own page: its suites make these calls, if not by curl.
  ...(
    [
      ['npx cloud-tpu-rehearsal( |$)(?!--)|eval "\\$\\(npx|gcloud compute tpus', 'test/long/packages.test.ts'],
      ['admin=|curl -s (-X POST )?"\\$admin/admin/(preempt|script)', 'rehearsal/test/admin-verbs.test.ts'],
      ['npx cloud-tpu-rehearsal --state-dir \\S+ --seed|curl .*/admin/clock', 'rehearsal/test/clock.test.ts'],
      ['curl .*/admin/token|export CLOUDSDK_AUTH_ACCESS', 'rehearsal/test/client-environment.test.ts'],
      [
        'npx cloud-tpu-rehearsal --state-dir \\S+ >|sleep 5|store=|export CLOUDSDK_API|gcloud storage|mkdir|gcsfuse|curl -s \\$store|echo hello|STORE=',
        'rehearsal/test/long/rehearsal-storage.test.ts',
      ],
      ['npx cloud-tpu-rehearsal --state-dir \\S+ --auth|curl .*/admin/access', 'rehearsal/test/authentication.test.ts'],
      ['curl .*/admin/kubernetes', 'rehearsal/test/kubernetes.test.ts'],
      ['curl .*/admin/project', 'rehearsal/test/neighbours.test.ts'],
      ['curl -s -H Metadata-Flavor', 'rehearsal/test/vm-metadata.live.test.ts'],
    ] as const
  ).map(([begins, by]) => ({ page: /rehearsal\/README/u, begins: new RegExp(`^(${begins})`, 'u'), by })),
];

const fits = (some: Some, { page, text }: DocCommand): boolean =>
  some.begins.test(text) && (some.page?.test(page) ?? true);

export const isIn = (list: readonly Some[], command: DocCommand): boolean => list.some((some) => fits(some, command));

/** Entries that no command fits. */
export const without = (list: readonly Some[], commands: readonly DocCommand[]): string[] =>
  list.filter((some) => !commands.some((command) => fits(some, command))).map(({ begins }) => String(begins));
