import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { satisfies } from 'semver';

interface LockedPackage {
  readonly version?: string;
  readonly optional?: boolean;
  readonly engines?: { readonly node?: string };
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const lock = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')) as {
  readonly packages: Readonly<Record<string, LockedPackage>>;
};
const paths = Object.keys(lock.packages);

describe('the packages', () => {
  it('of @temporalio are all of one version', () => {
    const versions = paths
      .filter((path) => /(^|\/)node_modules\/@temporalio\/[^/]+$/.test(path))
      .map((path) => lock.packages[path]?.version);
    assert.ok(versions.length >= 8, `only ${versions.length} found`);
    assert.equal(new Set(versions).size, 1, [...new Set(versions)].join(', '));
  });

  it('hold one protobufjs 8, at the root, for all of @temporalio (docs/facts.md, "Temporal", trap 1)', () => {
    assert.match(lock.packages['node_modules/protobufjs']?.version ?? 'none', /^8\./);
    assert.deepEqual(
      paths.filter((path) => /@temporalio\/[^/]+\/node_modules\/protobufjs$/.test(path)),
      [],
    );
  });

  it('run on each Node.js that jobctl runs on, or npm ci says EBADENGINE to everybody', () => {
    for (const version of ['20.19.0', '22.13.0', '24.0.0'])
      assert.deepEqual(
        paths.filter((path) => {
          const { engines, optional } = lock.packages[path] ?? {};
          return optional !== true && !satisfies(version, engines?.node ?? '*');
        }),
        [],
        version,
      );
  });

  it('read and write a history as JSON', () => {
    const workflowExecutionStartedEventAttributes = { workflowType: { name: 'job' } };
    const event = {
      eventId: '1',
      eventType: 'EVENT_TYPE_WORKFLOW_EXECUTION_STARTED',
      eventTime: '2026-11-21T00:00:00Z',
      workflowExecutionStartedEventAttributes,
    };
    const { events } = JSON.parse(historyToJSON(historyFromJSON({ events: [event] }))) as { events: object[] };
    assert.deepEqual(events, [event]);
  });

  it('are in the lock for every platform (else every npm ci fails: npx tsx scripts/complete-lock.ts)', () => {
    const missing = Object.values(lock.packages)
      .flatMap(({ optionalDependencies }) => Object.keys(optionalDependencies ?? {}))
      .filter((name) => !paths.some((path) => path.endsWith(`node_modules/${name}`)));
    assert.deepEqual(missing, []);
  });
});
