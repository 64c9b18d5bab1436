import assert from 'node:assert/strict';
import type { Trust } from '../../activities/authorization.js';
import { underPoolRules } from '../../activities/job-records.js';
import { choicesOf } from '../../domain/job-choices.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { formatProblems } from '../../domain/problem.js';
import { allowedIn, allowedInEdits, type AllowMode, notAllowed, matchesPattern } from '../../quota/allowed.js';
import { parsePoolFile } from '../../quota/files/pool-file.js';
import { UNLIMITED } from '../../quota/quota-config.js';

/**
 * F9: a job chose the Google project, the identity, the disks and the network that jobctl's own rights then made. At 19b9c1e the
 * pool file had defaults and no limits: every choice below was taken, by `validate` and by acceptJob.
 */
const POOL = `
google_project = "my-project"
[tpu]
service_account = "trainer@my-project.iam.gserviceaccount.com"
network = "projects/host-project/global/networks/ml"
subnetwork = "ml-east5"
data_disks = [{ source = "corpus", mode = "read-only" }]
[quota]
admins = ["ann", "bob"]
`;
const poolOf = (more = '') => {
  const parsed = parsePoolFile(`${POOL}${more}`, 'pool.toml', 'research');
  assert.ok(parsed.ok, parsed.ok ? '' : formatProblems(parsed.problems));
  return parsed;
};
type Pool = ReturnType<typeof poolOf>;

/** As a worker resolves it, with the pool's defaults. */
function specOf(job: object, { defaults }: Pool): JobSpec {
  const resolved = resolveJob({ command: { run: 'true' }, ...job }, { pool: { zones: ['us-east5-a'], ...defaults } });
  assert.ok(resolved.ok, resolved.ok ? '' : formatProblems(resolved.problems));
  return resolved.spec;
}
const tpu = (more: object = {}): object => ({ tpu: { accelerator: 'v5litepod-1', ...more } });
const STRICT: AllowMode = { isStrict: true, googleProject: 'workers-project' };
const TRUSTED: AllowMode = { ...STRICT, isStrict: false };

/** What is refused of a job, one line a choice. */
function refused(job: object, pool = poolOf('[allow]\n'), mode = TRUSTED): readonly string[] {
  const allowed = allowedIn(pool.choices, mode);
  const problems = allowed === undefined ? [] : notAllowed(allowed, choicesOf(specOf(job, pool)));
  return problems.map(({ path, message }) => `${path.join('.')}: ${message}`);
}
const word = (path: string, value: string): string => `${path}: '${value}' is not allowed in pool research`;

const OTHER_DISK = 'projects/teamb-proj/zones/us-east5-a/disks/teamb-data';
const pods = (more: object = {}): object => ({ kubernetes: { image: 'evil/image:1', ...more } });

/** By what the job of a pool with an empty [allow] chooses: what is refused. */
const CHOICES: Readonly<Record<string, readonly [job: object, refused: readonly string[]]>> = {
  'nothing: all of it is the pool’s': [tpu(), []],
  'the pool’s own values, written out': [
    tpu({ project: 'my-project', service_account: 'trainer@my-project.iam.gserviceaccount.com' }),
    [],
  ],
  'another team’s project': [tpu({ project: 'other-project' }), [word('tpu.project', 'other-project')]],
  'an identity': [
    tpu({ service_account: 'owner-sa@other.iam.gserviceaccount.com' }),
    [word('tpu.service_account', 'owner-sa@other.iam.gserviceaccount.com')],
  ],
  'Compute Engine’s default identity': [tpu({ service_account: 'default' }), [word('tpu.service_account', 'default')]],
  'a network and a part of it': [
    tpu({ network: 'other-net', subnetwork: 'other-sub' }),
    [word('tpu.network', 'other-net'), word('tpu.subnetwork', 'other-sub')],
  ],
  'another team’s disk': [
    tpu({ data_disks: [{ source: OTHER_DISK, mode: 'read-only' }] }),
    [word('tpu.data_disks.0.source', OTHER_DISK)],
  ],
  'a flag of gcloud in place of the key': [
    tpu({ flags: ['--service-account=owner-sa@other.iam.gserviceaccount.com'] }),
    [word('tpu.service_account', 'owner-sa@other.iam.gserviceaccount.com')],
  ],
  'an image on its VMs': [
    { ...tpu(), docker: { image: 'evil/image:1' }, setup: { modules: ['docker', 'command'] } },
    [word('docker.image', 'evil/image:1')],
  ],
  'somebody’s workflow': [
    {
      ...tpu(),
      notify: [{ to: { workflow: { id: 'a', signal: 's' } } }, { to: { workflow: { id: 'b', signal: 's' } } }],
    },
    [word('notify.0.to.workflow.id', 'a'), word('notify.1.to.workflow.id', 'b')],
  ],
  'VMs, which get none of the pool’s identity and network': [
    { compute_engine: { machine_type: 'n2-standard-8' } },
    [
      "compute_engine.service_account: is not given, so Google takes 'default', which pool research does not allow",
      "compute_engine.network: is not given, so Google takes 'default', which pool research does not allow",
    ],
  ],
  'a VM image': [
    {
      compute_engine: {
        machine_type: 'n2-standard-8',
        service_account: 'trainer@my-project.iam.gserviceaccount.com',
        network: 'projects/host-project/global/networks/ml',
        image: 'evil-project/family-1',
      },
    },
    [word('compute_engine.image', 'projects/evil-project/global/images/family/family-1')],
  ],
  'pods in another namespace, with its account, a claim and a folder of the node': [
    pods({
      namespace: 'payments',
      service_account: 'payer',
      volumes: [
        { mount_path: '/a', claim: 'ledger' },
        { mount_path: '/b', host_path: '/etc' },
      ],
    }),
    [
      word('kubernetes.namespace', 'kubernetes/default-cluster/payments'),
      word('kubernetes.image', 'evil/image:1'),
      word('kubernetes.service_account', 'payer'),
      word('kubernetes.volumes.0.claim', 'ledger'),
      word('kubernetes.volumes.1.host_path', '/etc'),
    ],
  ],
  'Secrets of the namespace, which may be another team’s': [
    pods({ image: 'evil/image:1', secrets: [{ name: 'team-b-hf', mount_path: '/s' }] }),
    [word('kubernetes.image', 'evil/image:1'), word('kubernetes.secrets.0.name', 'default-cluster/default/team-b-hf')],
  ],
  'pods of a RayCluster in another cluster': [
    { ray_cluster: { image: 'i', ray_version: '2.60.0', workers: { max: 1 }, context: 'prod' } },
    [word('ray_cluster.namespace', 'ray_cluster/prod/default'), word('ray_cluster.image', 'i')],
  ],
  'the pool’s own machines': [{ machines: {} }, []],
};

describe('F9: what a job may choose', () => {
  for (const [name, [job, want]] of Object.entries(CHOICES)) {
    it(`a job that chooses ${name}`, () => {
      assert.deepEqual(refused(job), want);
      assert.deepEqual(refused(job, poolOf()), [], 'a pool file without [allow] allows everything to trusted users');
      assert.deepEqual(refused(job, poolOf(), STRICT), want, 'in a verified pool a missing [allow] is an empty one');
    });
  }

  it('a list allows what it names, beside the pool’s own values, and nothing like it', () => {
    const pool = poolOf(`[allow]
google_projects = ["sandbox-*"]
service_accounts = ["*@my-project.iam.gserviceaccount.com"]
images = ["ghcr.io/team/*", "us-docker.pkg.dev/my-project/**"]
secrets = ["*/default/team-a-*"]
`);
    const withSecret = (name: string): object =>
      pods({ image: 'ghcr.io/team/train:1', secrets: [{ name, mount_path: '/s' }] });
    const allowedJobs = [
      tpu({ project: 'sandbox-1', service_account: 'eval@my-project.iam.gserviceaccount.com' }),
      tpu({ project: 'my-project' }),
      pods({ image: 'ghcr.io/team/train:1' }),
      withSecret('team-a-hf'),
      pods({ image: 'us-docker.pkg.dev/my-project/repo/x/train@sha256:' + 'a'.repeat(64) }),
    ];
    for (const job of allowedJobs) assert.deepEqual(refused(job, pool), [], JSON.stringify(job));
    const others = [
      tpu({ project: 'sandbox' }),
      tpu({ service_account: 'eval@my-projectxiam.gserviceaccount.com' }),
      pods({ image: 'ghcr.io/team/deep/train:1' }),
      pods({ image: 'us-docker.pkg.dev/my-project2/train' }),
      withSecret('team-b-hf'),
    ];
    for (const job of others) assert.equal(refused(job, pool).length, 1, JSON.stringify(job));
  });

  it('a pool without a file gives, in a verified pool, what a job gets without a word', () => {
    const pool = { ...poolOf(), choices: { pool: 'research', admins: [], gives: {} }, defaults: { pool: 'research' } };
    const own = tpu({ project: 'workers-project', service_account: 'default', network: 'default' });
    assert.deepEqual(refused(own, pool, STRICT), []);
    assert.deepEqual(refused(tpu({ project: 'my-project' }), pool, STRICT), [word('tpu.project', 'my-project')]);
  });

  it('a refusal says key, value, what is allowed, whom to ask and where it would stand', () => {
    const pool = poolOf('[allow]\nservice_accounts = ["eval@my-project.iam.gserviceaccount.com"]\n');
    const allowed = allowedIn(pool.choices, TRUSTED);
    assert.ok(allowed);
    const job = {
      ...tpu({ service_account: 'x@other.iam.gserviceaccount.com' }),
      notify: { to: { workflow: { id: 'a', signal: 's' } } },
    };
    assert.equal(
      formatProblems(notAllowed(allowed, choicesOf(specOf(job, pool)))),
      `tpu.service_account: 'x@other.iam.gserviceaccount.com' is not allowed in pool research
  allowed: trainer@my-project.iam.gserviceaccount.com, eval@my-project.iam.gserviceaccount.com
  for another one ask ann or bob (admins of the pool): [allow] service_accounts in pool.toml
notify.to.workflow.id: 'a' is not allowed in pool research
  pool research allows none: leave notify.to.workflow.id out
  for another one ask ann or bob (admins of the pool): [allow] notify in pool.toml`,
    );
  });

  it('acceptJob refuses it for good, and a job that was taken keeps what its edits may choose', () => {
    const pool = poolOf('[allow]\nnotify = ["sweep-*"]\n');
    const question = (job: object, isVerified = false) => ({
      ...{ spec: specOf(job, pool), input: { v: 1, job } as const, pool, config: UNLIMITED, project: 'none' },
      installation: { googleProject: 'workers-project', trust: { isVerified: () => isVerified } as unknown as Trust },
    });
    assert.throws(() => underPoolRules(question(tpu({ project: 'other-project' }))), {
      type: 'InvalidJob',
      nonRetryable: true,
    });
    const { allowed } = underPoolRules(question(tpu()));
    assert.deepEqual(allowed?.lists, { images: [], notify: ['sweep-*'] });
    assert.deepEqual(underPoolRules({ ...question(tpu()), pool: poolOf() }), {});
    // Without [allow] a pool whose users are verified allows what is its own, and nothing else.
    const strict = { ...question(tpu({ project: 'other-project' }), true), pool: poolOf() };
    assert.throws(() => underPoolRules(strict), /'other-project' is not allowed in pool research/);
    const edit = specOf(
      { ...tpu({ project: 'my-project' }), notify: { to: { workflow: { id: 'b', signal: 's' } } } },
      pool,
    );
    assert.ok(allowed);
    assert.deepEqual(
      notAllowed(allowed, choicesOf(edit)).map(({ path }) => path.join('.')),
      ['notify.to.workflow.id'],
    );
    assert.deepEqual(Object.keys(allowedInEdits(allowed).lists), ['images', 'notify']);
  });

  it('a pattern that no job can match is an error of the pool file, with its place', () => {
    const parsed = parsePoolFile(
      '[allow]\nmachines = ["tpu", "kubernets/a/b", "**"]\nimages = [""]\nimage = []\nsecrets = ["hf", "**", "a/b/c"]\n',
      'pool.toml',
      'p',
    );
    assert.ok(!parsed.ok);
    const text = formatProblems(parsed.problems);
    assert.match(
      text,
      /pool\.toml:2:20: machines\[1\]: 'kubernets\/a\/b' is no machines of a job file\n {2}did you mean kubernetes\?/,
    );
    assert.match(text, /pool\.toml:5:12: secrets\[0\]: 'hf' is no place of a Secret\n {2}CONTEXT\/NAMESPACE\/NAME/);
    assert.match(text, /pool\.toml:3:11: images\[0\]: '' is not text of one character or more/);
    assert.match(text, /pool\.toml:4:1: image: no such key in allow\n {2}did you mean images\?/);
  });

  it('patterns are not expressions, and none takes long', () => {
    const cases: readonly (readonly [string, string, boolean])[] = [
      ['a.b', 'a.b', true],
      ['a.b', 'axb', false],
      ['*', '', true],
      ['*', 'a/b', false],
      ['**', 'a/b', true],
      ['a/*/c', 'a/b/c', true],
      ['a/*/c', 'a/b/b/c', false],
      ['a/**/c', 'a/b/b/c', true],
      ['*a*', 'bab', true],
      ['*a*', 'bbb', false],
      ['a', 'ab', false],
      ['b', 'ab', false],
      ['***', 'a/b', true],
      ['(a|b)', 'a', false],
    ];
    for (const [pattern, value, want] of cases)
      assert.equal(matchesPattern(pattern, value), want, `${pattern} and ${value}`);
    // One that tries all ways would not come to an end.
    assert.equal(matchesPattern(`${'*a'.repeat(100)}b`, 'a'.repeat(10_000)), false);
  });
});
