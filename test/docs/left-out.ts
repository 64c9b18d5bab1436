/** Commands of the documentation that its test does not run, and why: the only ones. Each is matched at its beginning, and must occur. */
export const LEFT_OUT: readonly { readonly begins: RegExp; readonly why: string }[] = [
  {
    begins: /^(P=my-project|H=\$\(gcloud|gcloud |ssh -fN)/u,
    why: 'needs a Google Cloud project; test/long/real-cloud.test.ts with one',
  },
  { begins: /^(JOBCTL_HOME=\S+ )?jobctl dev up --cloud gcp/u, why: 'needs a Google Cloud project' },
  { begins: /^jobctl doctor --gcp/u, why: 'needs a Google Cloud project; test/doctor asks the rehearsal' },
  { begins: /^npx jobctl submit --set venv.requirements_file=train-jax/u, why: 'needs TPU hardware' },
  {
    begins: /^export TEMPORAL_ADDRESS=127.0.0.1:7233 JOBCTL_BUCKET=my-project-jobctl/u,
    why: 'points at a server of a Google Cloud project',
  },
  {
    begins: /^(jobctl setup server|jobctl submit --wait hello.yaml)/u,
    why: 'needs that server; test/long/compose.test.ts has one',
  },
  {
    begins: /^(docker compose|cp .env.example|sed -i "s\/\^POSTGRES|ssh-keygen -t ed25519|.?# in .env)/u,
    why: 'test/long/compose.test.ts',
  },
  {
    begins: /^(sudo |curl -s http:\/\/127.0.0.1:9090\/ready|journalctl|jobctl validate \/etc\/jobctl)/u,
    why: 'makes a virtual machine a server, as root',
  },
  { begins: /^npm ci($| && npx jobctl submit)/u, why: 'needs a fresh checkout; .ci/run' },
  { begins: /^npm pack /u, why: 'installs for all users; test/long/packages.test.ts, in a folder of its own' },
  {
    begins: /^(npm run chaos|npm ci && npm test|npx mocha|promtool)/u,
    why: 'a test of jobctl itself: npm test, .ci/long, docs/runs.md',
  },
];
