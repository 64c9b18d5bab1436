import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PoolFileReader } from '../../activities/operator-file.js';
import { poolSource, type PoolSource } from '../../activities/pool-source.js';
import { formatProblems } from '../../domain/problem.js';
import { NO_ACCESS_RULES } from '../../quota/membership.js';
import { parsePoolFile } from '../../quota/files/pool-file.js';

function problemsOf(text: string): readonly string[] {
  const parsed = parsePoolFile(text, 'pool.toml', 'research');
  return parsed.ok ? [] : formatProblems(parsed.problems).split('\n');
}

const KNOWN = [
  '  known here: allocation_mode, pricing, run_duration, valid_until, startup_script, tags, metadata,',
  '    labels, network, subnetwork, external_ips, service_account, scopes, reservation, hedge, data_disks,',
  '    version',
];

const TOP = [
  '  known here: google_project, zones, tpu, machines, access, allow, limits, quota, tiers, largest_slice,',
  '    borrowing_limits, lending_limits',
];

/** Pool files that are wrong: the whole message, line by line. */
const WRONG: Readonly<Record<string, { readonly text: string; readonly want: readonly string[] }>> = {
  'text that is no TOML': {
    text: 'google_project = "p\n',
    want: ['pool.toml:1:20: not TOML: a quote is not closed in this line'],
  },
  'an unknown key': {
    text: 'zone = ["us-east5-a"]\n',
    want: ['pool.toml:1:1: zone: no such key in a pool file', '  did you mean zones?', ...TOP],
  },
  'a key of another section': {
    text: 'admins = ["alice"]\n',
    want: ['pool.toml:1:1: admins: no such key in a pool file', '  admins belongs to: quota', ...TOP],
  },
  'a Google project and zones that are none': {
    text: 'google_project = "My Project"\nzones = ["us-east5"]\n',
    want: [
      "pool.toml:1:18: google_project: 'My Project' is no Google Cloud project id",
      '  the id of a Google Cloud project: 6 to 30 small letters, digits and dashes',
      "pool.toml:2:10: zones[0]: 'us-east5' is no zone",
      '  us-east5 is a region: its zones end in a letter, such as us-east5-a',
    ],
  },
  'one zone where a list belongs': {
    text: 'zones = "us-east5-a"\n',
    want: ["pool.toml:1:9: zones: 'us-east5-a' is not a list of texts"],
  },
  "a key that is a job's own": {
    text: '[tpu]\naccelerator = "v6e-16"\n',
    want: ['pool.toml:2:1: accelerator: no such key in tpu', ...KNOWN],
  },
  'a misspelt key of tpu': {
    text: '[tpu]\nnetwrok = "n"\n',
    want: ['pool.toml:2:1: netwrok: no such key in tpu', '  did you mean network?'],
  },
  'wrong values': {
    text: '[tpu]\nexternal_ips = "no"\nscopes = ["https://a", "gcs"]\npricing = "spto"\n[tpu.labels]\nTeam = "x"\n',
    want: [
      "pool.toml:2:16: external_ips: 'no' is not true or false",
      "pool.toml:3:24: scopes[1]: 'gcs' is no scope",
      '  known: bigquery, cloud-platform, cloud-source-repos, cloud-source-repos-ro, compute-ro, compute-rw, datastore, default, gke-default, logging-write, monitoring, monitoring-read, monitoring-write, pubsub, service-control, service-management, sql-admin, storage-full, storage-ro, storage-rw, taskqueue, trace, userinfo-email, or a URL such as https://www.googleapis.com/auth/cloud-platform',
      "pool.toml:4:11: pricing: 'spto' is not one of the allowed words",
      '  did you mean spot?',
      '  allowed: spot, ondemand, preemptible, reserved, flex-start, any',
      "pool.toml:6:8: Team: 'Team' is no label key",
      '  a-z, 0-9, - and _; 63 at most; a letter first',
    ],
  },
  'a subnetwork of another region than its zones': {
    text: 'zones = ["us-east5-a", "us-east1-d"]\n[tpu]\nsubnetwork = "projects/host-project/regions/us-east5/subnetworks/s"\n',
    want: [
      'pool.toml:3:14: subnetwork: lies in region us-east5, and the job may run in zone us-east1-d',
      '  for zones of several regions write its name alone, the same in each',
    ],
  },
  'a reservation by name with nodes without a queue': {
    text: '[tpu]\nreservation = "r"\nallocation_mode = "tpu-vm"\n',
    want: [
      'pool.toml:2:15: reservation: a reservation is named through queued resources only, and allocation_mode is tpu-vm',
      '  write allocation_mode: queued-resources, or leave the name out for any of the project',
    ],
  },
  'a runtime of a generation that is none': {
    text: '[tpu.version]\nv7e = "a"\n',
    want: [
      'pool.toml:2:1: v7e: no such key in tpu.version',
      '  did you mean v6e?',
      '  known here: v2, v3, v4, v5litepod, v5p, v6e, v5e',
    ],
  },
};

describe('pool file', () => {
  for (const [name, { text, want }] of Object.entries(WRONG)) {
    it(`${name} is refused with its place, what is wrong and what is allowed`, () =>
      assert.deepEqual(problemsOf(text), want));
  }

  it('its Google project, zones and defaults are read, as plain JSON', () => {
    const text =
      'google_project = "my-project"\nzones = ["us-east5-a"]\n[tpu]\nexternal_ips = false\npricing = "Spot"\nreservation = "r"\n[tpu.labels]\na = 1\n';
    const parsed = parsePoolFile(text, 'pool.toml', 'research');
    assert.ok(parsed.ok);
    const want = {
      pool: 'research',
      file: 'pool.toml',
      googleProject: 'my-project',
      zones: ['us-east5-a'],
      listedZones: ['us-east5-a'],
      tpu: { external_ips: false, pricing: 'Spot', reservation: 'r', labels: { a: 1 } },
    };
    assert.deepEqual(JSON.parse(JSON.stringify(parsed.defaults)), want);
  });
  it('an empty one has no defaults', () => {
    const parsed = parsePoolFile('', 'pool.toml', 'p');
    const choices = { pool: 'p', file: 'pool.toml', admins: [], gives: {} };
    const defaults = { pool: 'p', file: 'pool.toml' };
    const access = NO_ACCESS_RULES;
    assert.deepEqual(parsed, { ok: true, defaults, machines: [], access, choices, form: {} });
  });
});

/** Of pool research; nothing else is asked of a store. */
function sourceOf(poolFile: string): PoolSource {
  const nothing = { stat: async () => undefined } as never;
  return poolSource(
    new PoolFileReader({ places: { research: { poolFile } }, store: nothing, openBucket: () => nothing }),
  );
}

describe("a worker's pool file", () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'jobctl-pool-'));
  });
  after(() => rm(folder, { recursive: true }));

  it('is read for each job; the last good one stays in force, and what is wrong is said', async () => {
    const file = join(folder, 'pool.toml');
    const source = sourceOf(file);
    const zonesNow = async (text: string): Promise<unknown> => {
      await writeFile(file, text);
      const { defaults, problem } = await source.load('research');
      return [defaults?.zones, problem?.split('\n')[0]];
    };
    assert.match((await source.load('research')).problem ?? '', /pool\.toml: the pool file cannot be read: ENOENT/);
    assert.deepEqual(await zonesNow('zones = [1]\n'), [undefined, `${file}:1:10: zones[0]: 1 is not text`]);
    assert.deepEqual(await zonesNow('zones = ["us-east5-a"]\n'), [['us-east5-a'], undefined]);
    assert.deepEqual(await zonesNow('zones = [1]\n'), [['us-east5-a'], `${file}:1:10: zones[0]: 1 is not text`]);
    await rm(file);
    assert.deepEqual((await source.load('research')).defaults?.zones, ['us-east5-a']);
    assert.deepEqual(await zonesNow('zones = ["us-east1-d"]\n'), [['us-east1-d'], undefined]);
  });
  it('belongs to its own pool alone', async () => {
    assert.deepEqual(await sourceOf('/nowhere').load('other'), {
      defaults: { pool: 'other' },
      machines: [],
      access: NO_ACCESS_RULES,
    });
  });
});
