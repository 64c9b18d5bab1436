import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CHOICE_KEYS } from '../../domain/choices.js';
import { projectOf } from '../../activities/job-records.js';
import { pool } from '../quota/builders.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { MACHINE_FLAGS } from '../../domain/machine-kinds/kind.js';
import { POOL_TABLES } from '../../domain/machine-kinds/registry.js';
import {
  kindOfJob,
  labelOfJob,
  MACHINE_KINDS,
  machineKind,
  type MachineKindName,
  type MachineRef,
} from '../../domain/machines.js';
import { poolTableForms } from '../../domain/pool-tables.js';
import { EXECUTION_WORDS, execution } from '../../cli/job/launching/executions.js';
import { cliKind } from '../../cli/doctor/machine-kinds.js';
import { redactValue } from '../../client/export/redact-value.js';
import { Pseudonyms } from '../../client/export/pseudonyms.js';
import type { Machines } from '../../cloud/machines/port.js';
import { allowedIn, notAllowed } from '../../quota/allowed.js';
import { parsePoolFile } from '../../quota/files/pool-file.js';
import { guestAttributesOf } from '../../worker/open-machines.js';
import { LEAST_SECTIONS } from '../domain/kind-jobs.js';

/** Sections of each kind that a pool of v4 chips can never start, and the key by which each is refused. */
const TOO_LARGE: Readonly<Record<MachineKindName, readonly (readonly [key: string, section: object])[]>> = {
  'cloud-tpu': [['tpu.accelerator: v5litepod-16', LEAST_SECTIONS['cloud-tpu']]],
  kubernetes: [
    ['kubernetes: cpu-4', LEAST_SECTIONS.kubernetes],
    ['kubernetes.cpus: cpu-2', { kubernetes: { image: 'a', cpus: 2 } }],
    ['kubernetes.gpus: h100-16', { kubernetes: { image: 'a', workers: 2, gpus: 8, gpu_type: 'h100' } }],
    ['kubernetes.tpu.accelerator: v6e-8', { kubernetes: { image: 'a', tpu: { accelerator: 'v6e-8' } } }],
  ],
  'ray-cluster': [
    ['ray_cluster.workers: cpu-4', LEAST_SECTIONS['ray-cluster']],
    [
      'ray_cluster.workers.gpus: h100-2',
      { ray_cluster: { image: 'a', ray_version: '2.60.0', workers: { max: 2, gpus: 1, gpu_type: 'h100' } } },
    ],
  ],
  machines: [
    ['machines: machine-1', LEAST_SECTIONS.machines],
    ['machines.accelerator: h100-8', { machines: { accelerator: 'h100', count: 8 } }],
  ],
  'compute-engine': [
    ['compute_engine.machine_type: cpu-4', LEAST_SECTIONS['compute-engine']],
    [
      'compute_engine.accelerator: t4-1',
      {
        compute_engine: {
          ...{ machine_type: 'n1-standard-8', zone: 'us-central1-a' },
          accelerator: { type: 'nvidia-tesla-t4', count: 1 },
        },
      },
    ],
  ],
};

/** Each list that once named kinds by hand, for each kind: one that forgets a row is red here, unless the compiler says it before. */
describe('every kind of machines', () => {
  for (const name of MACHINE_KINDS) {
    const kind = machineKind(name);
    const { section } = kind;
    const resolved = resolveJob({ ...LEAST_SECTIONS[name], command: { run: 'true' } }, { pool: { pool: 'default' } });
    assert.ok(resolved.ok, JSON.stringify(resolved));
    const { spec } = resolved;
    const accounts = { googleProject: 'some-project' };
    const place = {
      ...{ owner: 'o', zone: 'z', name: 'jc-j-g1', job: 'j', run: 'r', generation: 1 },
      ...{ loginUser: 'u', publicKey: 'k' },
      ...accounts,
    };
    const plan = kind.plan(spec, place);
    const ref: MachineRef = plan.ref;

    describe(name, () => {
      it('is found by its section', () => assert.equal(kindOfJob(spec), name));

      it('knows size, route, environment and texts of its least job', () => {
        const { hosts, units } = kind.size(spec);
        assert.ok(hosts > 0 && Object.values(units).some((count) => count > 0));
        const own = { index: 0, name: 'jc-j-g1', zone: 'z', hosts: [] };
        assert.ok(
          kind.environment(spec, { own, all: [own], coordinator: 'h', jaxPort: 1, portOffset: 0, rank: 0, tasks: 1 }),
        );
        assert.equal(typeof kind.route(spec), 'string');
        const account = kind.account(accounts, spec);
        const texts = [
          ...[kind.accountText(account), kind.resourceText(ref), kind.placeText(ref), kind.stateHint(ref)],
          ...[kind.requestText(spec), kind.planText(plan), kind.planDetails(plan)],
          ...kind.requestFacts(spec, () => '').flat(),
        ];
        assert.deepEqual(
          texts.filter((text) => text === ''),
          [],
        );
        assert.deepEqual(kind.planForm().parse(plan), plan);
      });

      for (const [key, asked] of TOO_LARGE[name])
        it(`is refused by the key that its file has: ${key}`, () => {
          const job = resolveJob({ ...asked, command: { run: 'true' } }, { pool: { pool: 'default' } });
          assert.ok(job.ok, JSON.stringify(job));
          const submitter = { user: 'ann', isVerified: false };
          assert.throws(
            () => projectOf(pool({ v4: 64 }), submitter, job.spec, []),
            (error: Error) => error.message.startsWith(`${key} can never start: the pool has no `),
          );
        });

      it('says of every flag about machines which key it sets, or why none', () => {
        for (const flag of MACHINE_FLAGS) {
          const key = section.flags[flag];
          const words = 'why' in key ? [key.why, key.instead] : key.path.map(String);
          assert.ok(words.length > 0 && words.every((word) => word !== ''), flag);
        }
      });

      it('is allowed in a pool that lists nothing, if its job chooses nothing', () => {
        const pool = { pool: 'p', admins: [], gives: {} };
        const allowed = allowedIn(pool, { isStrict: true, ...accounts });
        assert.ok(allowed !== undefined);
        const choices = kind.choices(spec).filter(({ key }) => key !== 'images');
        assert.deepEqual(notAllowed(allowed, choices), []);
        assert.deepEqual(
          Object.keys(kind.usualChoices(accounts)).filter((key) => !CHOICE_KEYS.some((known) => known === key)),
          [],
        );
      });

      it("may be named in a pool file's [allow]", () => {
        const of = (pattern: string) => parsePoolFile(`[allow]\nmachines = ['${pattern}']\n`, 'pool.toml', 'p');
        const value = kind.choices(spec).find(({ key }) => key === 'machines')?.value ?? '';
        assert.deepEqual([of(section.allowForm).ok, of(value).ok, of('no-such-machines').ok], [true, true, false]);
        assert.equal(value.split('/').length, section.allowForm.split('/').length);
        const wrong = of('no-such-machines');
        assert.ok(!wrong.ok && wrong.problems[0]?.hint?.includes(section.allowForm));
      });

      it('has a table in a pool file where its row in POOL_TABLES says so', () => {
        const table = POOL_TABLES[section.name as keyof typeof POOL_TABLES];
        assert.equal(section.name in poolTableForms(), table !== undefined);
      });

      it('asks its own adapter alone for facts about hosts', async () => {
        const asked: string[] = [];
        const told = { kind: 'read', hosts: [] } as const;
        const adapters = Object.fromEntries(
          MACHINE_KINDS.map((each) => {
            const read = async () => {
              asked.push(each);
              return told;
            };
            return [each, { readGuestAttributes: read } as unknown as Machines];
          }),
        );
        assert.deepEqual(await guestAttributesOf(adapters).readGuestAttributes(ref), told);
        assert.deepEqual(asked, [name]);
        const none = await guestAttributesOf({}).readGuestAttributes(ref);
        assert.deepEqual(none, { kind: 'disabled', message: `${kind.provider} tells no host keys` });
        assert.deepEqual(await guestAttributesOf({}).readNodeMetadata(ref), {});
      });

      it('names the account that its jobs may lack, and no other', () => {
        const account = kind.account(accounts, spec);
        assert.notEqual(account, '');
        const none = kind.account({ googleProject: '' }, spec);
        assert.equal(none === '', kind.accountKey !== undefined);
        const { accountKey } = kind;
        assert.deepEqual(Object.values(kind.proxyVariables(ref)), accountKey === undefined ? [] : [account]);
      });

      it('carries the label of a rehearsal where it is rehearsed', () =>
        assert.equal(labelOfJob(spec, 'REHEARSAL'), kind.isRehearsed(ref.zone) ? 'REHEARSAL' : undefined));

      it('has its words of `launch`, of the audit and of exports', () => {
        const word = EXECUTION_WORDS.find((each) => execution(each).kind === name);
        assert.equal(word, kind.launchWord);
        assert.match(cliKind(name).doctorFlag, /^\w+$/);
        const exported = redactValue({ spec }, new Pseudonyms()) as { readonly spec: typeof spec };
        assert.equal(kind.asked(exported.spec).pricing, kind.asked(spec).pricing);
      });

      it('has nothing that `npm run new:kind` left to its author: no todo(), no text or comment that begins with TODO', () =>
        assert.deepEqual(leftToAuthor(name), []));

      it('is in docs/machines.md and docs/job-file.md', () => {
        for (const [page, word] of [
          ['docs/machines.md', `\`${name}\``],
          ['docs/job-file.md', section.name],
        ] as const)
          assert.ok(readFileSync(page, 'utf8').includes(word), page);
      });
    });
  }
});

/** Lines of the kind's sources that its author has not filled in. */
const leftToAuthor = (name: MachineKindName): readonly string[] =>
  [`domain/machine-kinds/${name}`, `cloud/machines/${name}`].flatMap((folder) =>
    (existsSync(folder) ? readdirSync(folder) : []).flatMap((file) =>
      readFileSync(join(folder, file), 'utf8')
        .split('\n')
        .filter((line) => /\btodo\(['"`]|(['"`]|\/\*\*?|\/\/|\*) ?TODO\b/.test(line))
        .map((line) => `${folder}/${file}: ${line.trim()}`),
    ),
  );
