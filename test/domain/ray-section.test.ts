import assert from 'node:assert/strict';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { commandScript, rayOf } from '../../domain/modules/command.js';

const TPU = { accelerator: 'v5litepod-16', zone: 'us-central1-a' };
const resolved = (more: object) => resolveJob({ tpu: TPU, command: { run: 'python3 train.py' }, ...more });
const problems = (more: object): readonly string[] => {
  const job = resolved(more);
  return job.ok ? [] : job.problems.map(({ path, message, hint }) => `${path.join('.')}: ${message}; ${hint}`);
};

describe('the section ray', () => {
  it('may be empty: Ray on all hosts, with defaults, after everything that may install it', () => {
    const job = resolved({ ray: {}, bundle: '.', venv: { name: 'train' }, script: { run: 'true' } });
    assert.ok(job.ok);
    assert.deepEqual(job.spec.ray, { joinSeconds: 300 });
    assert.deepEqual(job.spec.modules, ['venv', 'bundle', 'script', 'ray', 'command']);
    assert.equal(job.spec.command?.hosts, 'all');
  });

  it('has its settings in the units of ray start', () => {
    const ray = {
      ...{ version: '2.60.0', port_base: 7000, object_store_memory: '2Gi', num_cpus: 0, dashboard: false },
      ...{ resources: { "it's": 0.5 }, join_timeout: '2m' },
    };
    const job = resolved({ ray });
    assert.ok(job.ok);
    assert.deepEqual(job.spec.ray, {
      ...{ version: '2.60.0', portBase: 7000, objectStoreBytes: 2 * 1024 ** 3, cpus: 0, dashboard: false },
      ...{ resources: { "it's": 0.5 }, joinSeconds: 120 },
    });
    const script = commandScript(job.spec) ?? '';
    assert.match(
      script,
      /^ray_settings=\(.* --num-cpus=0 '--resources=\{"it'\\''s":0\.5\}' --object-store-memory=2147483648\)$/m,
    );
    assert.match(script, /^ray_head_settings=\(--include-dashboard=false\)\nray_base=7000\nray_join_seconds=120$/m);
  });

  it('that setup.modules does not name is not used', () => {
    const job = resolved({ ray: {}, setup: { modules: ['command'] } });
    assert.ok(job.ok && rayOf(job.spec) === undefined);
    assert.equal(commandScript(job.spec), 'set -o pipefail; python3 train.py');
  });

  const wrong: Readonly<Record<string, readonly [more: object, ...said: RegExp[]]>> = {
    'in a container': [
      { ray: {}, docker: { image: 'python:3.12' } },
      /^ray: runs on the hosts, not in the container of docker; install it with venv or conda/,
    ],
    'without a command': [{ ray: {}, command: null }, /^ray: .* this job has none; write command/],
    'with hosts chosen': [
      { ray: {}, command: { run: 'x', workers: 0 } },
      /^command\.workers: is not for Ray: .* first host; leave it out/,
    ],
    'a version without tokens': [
      { ray: { version: '2.51.9' } },
      /^ray\.version: '2\.51\.9' is too old; Ray 2\.52\.0 is the first/,
    ],
    'half a version': [{ ray: { version: 2.6 } }, /^ray\.version: 2\.6 is no version of Ray; all three numbers/],
    'a port that is none': [
      { ray: { port_base: 65_534 } },
      /^ray\.port_base: 65534 is not a whole number from 1024 to 65533/,
    ],
    'a size that is none': [
      { ray: { object_store_memory: '2 GB' } },
      /^ray\.object_store_memory: '2 GB' is not bytes, or a size such as/,
    ],
    "a resource of Ray's": [
      { ray: { resources: { CPU: 4 } } },
      /^ray\.resources\.CPU: is a resource of Ray's own; write num_cpus/,
    ],
    'no time to join': [{ ray: { join_timeout: 1 } }, /^ray\.join_timeout: 1 is too short; 10s or more/],
    'a key that is none': [{ ray: { workers: 2 } }, /^ray\.workers: no such key in ray; /],
  };
  for (const [name, [more, ...said]] of Object.entries(wrong))
    it(`is refused: ${name}`, () => {
      const found = problems(more);
      assert.equal(found.length, said.length, found.join('\n'));
      said.forEach((text, index) => assert.match(found[index] ?? '', text));
    });
});
