import assert from 'node:assert/strict';
import { z } from 'zod';
import { buildChoices, choicesOf } from '../../domain/job-choices.js';
import { buildForm } from '../../domain/build/spec.js';
import { CHOICE_KEYS, type ChoiceKey } from '../../domain/choices.js';
import { REQUEST_SECTIONS } from '../../domain/job-file/sections.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { formatProblems } from '../../domain/problem.js';
import { allowedIn, notAllowed } from '../../quota/allowed.js';
import { parsePoolFile } from '../../quota/files/pool-file.js';

/**
 * F9: `[allow]` had some keys of each section and nobody looked at the others, such as network tags. Here every key of every
 * section that asks for machines, or for an image, has a verdict, so that a key cannot come without one.
 */
type Verdict =
  | { readonly harmless: string }
  | {
      /** Of `[allow]`. */
      readonly by: ChoiceKey;
      /** The section's keys that choose it, and what `[allow]` has to say then. */
      readonly chosen: object;
      readonly value: string;
    };
const harmless = (why: string): Verdict => ({ harmless: why });
const by = (key: ChoiceKey, chosen: object, value: string): Verdict => ({ by: key, chosen, value });

const COUNTED = harmless('the quota file counts it');
const SHAPE = harmless('the same machines in another order or at another time: the lease asks for them by quota');
const OWN = harmless('of the slice that is made for this job alone, with its identity, which is allowed');
const NAMES = harmless('a prefix of names; jobctl adds the job to each');
const TEXTS = harmless('labels of Google for bills and searches: no right goes by them, and ours are refused');

const disk = { data_disks: [{ source: 'ledger', mode: 'read-only' }] };
const reserved = { pricing: 'reserved', reservation: 'projects/p-owner/reservations/r' };
const GOOGLE: Readonly<Record<string, Verdict>> = {
  name: NAMES,
  zone: SHAPE,
  zones: SHAPE,
  project: by('google_projects', { project: 'other-project' }, 'other-project'),
  pricing: COUNTED,
  startup_script: OWN,
  tags: by('tags', { tags: ['payments'] }, 'payments'),
  metadata: by('metadata', { metadata: { 'enable-oslogin': 'FALSE' } }, 'enable-oslogin=FALSE'),
  labels: TEXTS,
  network: by('networks', { network: 'payments' }, 'payments'),
  subnetwork: by('networks', { subnetwork: 'payments-1' }, 'payments-1'),
  external_ips: by('external_ips', { external_ips: true }, 'true'),
  service_account: by('service_accounts', { service_account: 'o@p-123.iam.gserviceaccount.com' }, 'o@*'),
  scopes: by('scopes', { scopes: ['compute-rw'] }, 'https://www.googleapis.com/auth/compute'),
  reservation: by('reservations', reserved, 'projects/p-owner/reservations/r'),
  data_disks: by('data_disks', disk, 'ledger'),
  'data_disks[].source': by('data_disks', disk, 'ledger'),
  'data_disks[].mode': harmless('of a disk that is allowed'),
};

const claim = { volumes: [{ mount_path: '/a', claim: 'ledger' }] };
const secret = { secrets: [{ name: 'hf', mount_path: '/s' }] };
const toleration = { tolerations: [{ key: 'dedicated', value: 'payments', effect: 'NoSchedule' }] };
const taint = by('tolerations', toleration, 'dedicated=payments:NoSchedule');
const PODS: Readonly<Record<string, Verdict>> = {
  context: by('machines', { context: 'prod' }, 'SECTION/prod/default'),
  namespace: by('machines', { namespace: 'payments' }, 'SECTION/default-cluster/payments'),
  image: by('images', { image: 'evil/image:1' }, 'evil/image:1'),
  node_selector: by('node_selectors', { node_selector: { 'team/pool': 'payments' } }, 'team/pool=payments'),
  tolerations: taint,
  'tolerations[].key': by('tolerations', { tolerations: [{ operator: 'Exists' }] }, '/every key/:every effect'),
  'tolerations[].operator': by(
    'tolerations',
    { tolerations: [{ key: 'dedicated', operator: 'Exists' }] },
    'dedicated:every effect',
  ),
  'tolerations[].value': taint,
  'tolerations[].effect': taint,
  service_account: by('service_accounts', { service_account: 'payer' }, 'payer'),
  priority_class: by('priority_classes', { priority_class: 'system-node-critical' }, 'system-*'),
  secrets: by('secrets', secret, 'default-cluster/default/hf'),
  'secrets[].name': by('secrets', secret, 'default-cluster/default/hf'),
  'secrets[].mount_path': OWN,
  volumes: by('data_disks', claim, 'ledger'),
  'volumes[].mount_path': OWN,
  'volumes[].claim': by('data_disks', claim, 'ledger'),
  'volumes[].empty_dir': OWN,
  'volumes[].empty_dir.medium': OWN,
  'volumes[].empty_dir.size': OWN,
  'volumes[].host_path': by('data_disks', { volumes: [{ mount_path: '/a', host_path: '/etc' }] }, '/etc'),
  'volumes[].read_only': harmless('of a volume that is allowed'),
  labels: by('labels', { labels: { app: 'payments' } }, 'app=payments'),
  gang_timeout: SHAPE,
};
const SIZE = { gpus: COUNTED, gpu_type: COUNTED, cpus: COUNTED, memory: COUNTED };
const below = (path: string, verdicts: Readonly<Record<string, Verdict>>): Readonly<Record<string, Verdict>> =>
  Object.fromEntries(Object.entries(verdicts).map(([key, verdict]) => [`${path}.${key}`, verdict]));

interface Section {
  readonly form: z.ZodType;
  /** Without a choice that is judged here. */
  readonly least: object;
  readonly verdicts: Readonly<Record<string, Verdict>>;
}

const SECTIONS: Readonly<Record<string, Omit<Section, 'form'>>> = {
  tpu: {
    least: { accelerator: 'v5litepod-1', zone: 'us-east5-a' },
    verdicts: {
      ...GOOGLE,
      accelerator: COUNTED,
      topology: COUNTED,
      allocation_mode: SHAPE,
      run_duration: harmless('the slice ends by itself the sooner'),
      valid_until: SHAPE,
      num_workers: harmless("JobMan's own: it is not used"),
      reservation_bound: harmless('of a reservation that is allowed: the slice ends with it'),
      hedge: harmless('its pool counts each request, and has room for a second one only where nobody waits'),
      reservation: by(
        'reservations',
        { ...reserved, allocation_mode: 'queued-resources' },
        'projects/p-owner/reservations/r',
      ),
      version: harmless('a runtime of Google’s'),
      flags: by('tags', { flags: ['--tags=payments'] }, 'payments'),
      adopt: by('machines', { adopt: 'by-hand' }, 'tpu/adopted'),
    },
  },
  compute_engine: {
    least: { machine_type: 'n2-standard-8', zone: 'us-east5-a', external_ips: false },
    verdicts: {
      ...GOOGLE,
      machine_type: COUNTED,
      count: COUNTED,
      accelerator: COUNTED,
      'accelerator.type': COUNTED,
      'accelerator.count': COUNTED,
      image: by('images', { image: 'evil-project/family-1' }, 'projects/evil-project/**'),
      disk_gb: OWN,
      disk_type: OWN,
    },
  },
  machines: {
    least: {},
    verdicts: {
      accelerator: COUNTED,
      count: COUNTED,
      hosts: COUNTED,
      labels: harmless('which machines of the pool’s own'),
    },
  },
  kubernetes: {
    least: { image: 'own/image:1' },
    verdicts: {
      ...PODS,
      ...SIZE,
      workers: COUNTED,
      tpu: COUNTED,
      'tpu.accelerator': COUNTED,
      'tpu.topology': COUNTED,
    },
  },
  ray_cluster: {
    least: { image: 'own/image:1', ray_version: '2.60.0', workers: { max: 1 } },
    verdicts: {
      ...PODS,
      ray_version: OWN,
      dashboard: OWN,
      head: COUNTED,
      ...below('head', { cpus: COUNTED, memory: COUNTED }),
      workers: COUNTED,
      ...below('workers', { ...SIZE, min: COUNTED, max: COUNTED, idle_timeout: SHAPE }),
    },
  },
  build: {
    least: { image: 'own/image', repository: 'https://git.example.org/a.git', commit: 'a'.repeat(40), cluster: 'c' },
    verdicts: {
      image: by('images', { image: 'evil/image' }, 'evil/image'),
      cluster: by('machines', { cluster: 'prod' }, 'kubernetes/prod/default'),
      namespace: by('machines', { namespace: 'payments' }, 'kubernetes/c/payments'),
      git_secret: by('secrets', { git_secret: 'git' }, 'c/default/git'),
      push_secret: by('secrets', { push_secret: 'push' }, 'c/default/push'),
      pull_image: by('images', { pull_image: 'evil/image' }, 'evil/image'),
      digest: harmless('of the image that is allowed'),
      ...Object.fromEntries(
        ['context', 'dockerfile', 'target', 'args', 'platform', 'repository', 'commit'].map((key) => [key, OWN]),
      ),
    },
  },
};

/** Every key of a form, as a path: `volumes[].empty_dir.size`. */
function keysOf(form: z.ZodType, path = ''): readonly string[] {
  if (form instanceof z.ZodOptional || form instanceof z.ZodNullable) return keysOf(form.unwrap() as z.ZodType, path);
  if (form instanceof z.ZodArray) return keysOf(form.element as z.ZodType, `${path}[]`);
  if (form instanceof z.ZodUnion) return form.options.flatMap((option) => keysOf(option as z.ZodType, path));
  if (!(form instanceof z.ZodObject)) return [];
  return Object.entries(form.shape).flatMap(([key, value]) => {
    const at = path === '' ? key : `${path}.${key}`;
    return [at, ...keysOf(value as z.ZodType, at)];
  });
}

const POOL = '[tpu]\nexternal_ips = false\nscopes = ["storage-ro"]\n[allow]\n';

/** What the pool refuses of a job that has these sections: keys of `[allow]` with their values. */
function refused(sections: object, allow = ''): readonly string[] {
  const pool = parsePoolFile(POOL + allow, 'pool.toml', 'p');
  assert.ok(pool.ok, pool.ok ? '' : formatProblems(pool.problems));
  const job = { command: { run: 'true' }, ...sections };
  const resolved = resolveJob(job, { pool: { ...pool.defaults } });
  assert.ok(resolved.ok, resolved.ok ? '' : `${JSON.stringify(job)}: ${formatProblems(resolved.problems)}`);
  const allowed = allowedIn(pool.choices, { isStrict: true, googleProject: 'own-project' });
  assert.ok(allowed);
  const choices = [...choicesOf(resolved.spec), ...buildChoices(job, resolved.spec)];
  return choices
    .filter((choice) => notAllowed(allowed, [choice]).length > 0)
    .map(({ key, value }) => `${key} = ${value}`);
}

const jobWith = (name: string, least: object, chosen: object): object =>
  name === 'build'
    ? { kubernetes: { context: 'c' }, build: { ...least, ...chosen } }
    : { [name]: { ...least, ...chosen } };

describe('F9: every key by which a job asks for machines', () => {
  const forms = new Map<string, z.ZodType>([
    ...REQUEST_SECTIONS.map(({ name, form }) => [name, form()] as const),
    ['build', buildForm()] as const,
  ]);

  it('has a verdict, and no verdict is of a key that is gone', () => {
    assert.deepEqual([...forms.keys()].toSorted(), Object.keys(SECTIONS).toSorted());
    for (const [name, form] of forms)
      assert.deepEqual(
        Object.keys(SECTIONS[name]?.verdicts ?? {}).toSorted(),
        [...new Set(keysOf(form))].toSorted(),
        name,
      );
  });

  for (const [name, { least, verdicts }] of Object.entries(SECTIONS)) {
    for (const [path, verdict] of Object.entries(verdicts)) {
      if ('harmless' in verdict) continue;
      const value = verdict.value.replace('SECTION', name);
      it(`${name}.${path} is the pool’s to allow, by ${verdict.by}`, () => {
        const before = refused(jobWith(name, least, {}));
        const job = jobWith(name, least, verdict.chosen);
        const more = (allow?: string): readonly string[] =>
          refused(job, allow).filter((line) => !before.includes(line) && line.startsWith(`${verdict.by} = `));
        assert.notDeepEqual(more(), [], 'an empty [allow] refuses it');
        assert.deepEqual(more(`${verdict.by} = [${JSON.stringify(value)}]\n`), []);
      });
    }
  }

  it('each key of [allow] but images of VMs, notify and machines of a kind is one of them', () => {
    const used = new Set(
      Object.values(SECTIONS).flatMap(({ verdicts }) =>
        Object.values(verdicts).flatMap((verdict) => ('by' in verdict ? [verdict.by] : [])),
      ),
    );
    assert.deepEqual(
      CHOICE_KEYS.filter((key) => !used.has(key)),
      ['notify'],
    );
  });

  it('a pattern of taints allows no wider toleration', () => {
    const job = (tolerations: object): object => ({ kubernetes: { image: 'own/image:1', tolerations: [tolerations] } });
    const isRefused = (tolerations: object, pattern: string): boolean =>
      refused(job(tolerations), `tolerations = ["${pattern}"]\n`).some((line) => line.startsWith('tolerations'));
    assert.ok(isRefused({ operator: 'Exists', effect: 'NoSchedule' }, '*:NoSchedule'));
    assert.ok(isRefused({ key: 'a', operator: 'Exists', effect: 'NoSchedule' }, 'a=*:NoSchedule'));
    assert.ok(isRefused({ key: 'a', value: 'b' }, 'a=b:NoSchedule'));
    assert.ok(!isRefused({ key: 'a', value: 'b', effect: 'NoExecute' }, 'a=*:*'));
  });
});
