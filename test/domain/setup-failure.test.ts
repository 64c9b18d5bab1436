import assert from 'node:assert/strict';
import { afterSetUpFailure, judgeSetUpFailure } from '../../domain/setup-failure.js';
import type { SetUpFailure } from '../../domain/setup-failure.js';

/** What the programs printed; those that were seen here or are quoted in issues of theirs. */
const TEXTS: readonly (readonly [SetUpFailure['kind'], string])[] = [
  ['transient', 'E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 2157 (unattended-upgr)'],
  ['transient', 'E: Could not get lock /var/lib/apt/lists/lock. It is held by process 912 (apt-get)'],
  [
    'transient',
    'E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), is another process using it?',
  ],
  [
    'transient',
    "Err:1 http://archive.ubuntu.com/ubuntu jammy InRelease\n  Temporary failure resolving 'archive.ubuntu.com'",
  ],
  ['transient', 'curl: (6) Could not resolve host: packages.cloud.google.com'],
  ['transient', 'curl: (22) The requested URL returned error: 503'],
  ['transient', 'E: Failed to fetch http://deb.debian.org/x.deb  Hash Sum mismatch'],
  [
    'transient',
    "WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after connection broken by 'NewConnectionError'\nERROR: Could not find a version that satisfies the requirement jax (from versions: none)\nERROR: No matching distribution found for jax",
  ],
  ['transient', 'ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device'],
  ['transient', 'Error response from daemon: Get "https://registry-1.docker.io/v2/": net/http: TLS handshake timeout'],
  ['transient', 'Error response from daemon: received unexpected HTTP status: 503 Service Unavailable'],
  ['transient', 'toomanyrequests: You have reached your pull rate limit.'],
  ['transient', 'failed to register layer: write /usr/lib/x.so: no space left on device'],
  [
    'transient',
    'CondaHTTPError: HTTP 000 CONNECTION FAILED for url <https://repo.anaconda.com/pkgs/main/linux-64/current_repodata.json>',
  ],
  [
    'transient',
    'error: Failed to fetch: `https://pypi.org/simple/jax/`\n  Caused by: client error (Connect)\n  Caused by: dns error: failed to lookup address information',
  ],
  ['permanent', 'ERROR: No matching distribution found for jaxx==9.9'],
  ['permanent', "ERROR: Invalid requirement: 'jax=1' (from line 1 of requirements.txt)"],
  ['permanent', 'ERROR: ResolutionImpossible: for help visit https://pip.pypa.io/'],
  [
    'permanent',
    '  × No solution found when resolving dependencies:\n  ╰─▶ Because jaxx was not found in the package registry',
  ],
  ['permanent', 'Error response from daemon: manifest for python:9.99 not found: manifest unknown: manifest unknown'],
  [
    'permanent',
    "Error response from daemon: pull access denied for nobody/nothing, repository does not exist or may require 'docker login': denied: requested access to the resource is denied",
  ],
  [
    'permanent',
    "Error response from daemon: unauthorized: You don't have the needed permissions to perform this operation",
  ],
  ['permanent', 'PackagesNotFoundError: The following packages are not available from current channels:\n\n  - jaxx'],
  [
    'permanent',
    'Error: daemonize.Run: readFromProcess: sub-process: mountWithArgs: The specified bucket does not exist.',
  ],
  [
    'permanent',
    'googleapi: Error 403: me@p.iam.gserviceaccount.com does not have storage.objects.list access to the Google Cloud Storage bucket.',
  ],
  ['permanent', 'E: Unable to locate package gcsfusee'],
  ['unknown', 'Traceback (most recent call last):\nValueError: 503 is too much'],
  ['unknown', 'make: *** [Makefile:3: all] Error 2'],
  ['unknown', ''],
];

describe('what a failed step of a set-up means', () => {
  for (const [kind, text] of TEXTS)
    it(`${kind}: ${text.slice(0, 70).replaceAll('\n', ' ')}`, () =>
      assert.equal(judgeSetUpFailure(1, text).kind, kind));

  it('transient: exit code 255, whatever was said', () => assert.equal(judgeSetUpFailure(255, '').kind, 'transient'));

  it('permanent is over at once, unknown after the third try, both for the job', () => {
    assert.deepEqual(afterSetUpFailure({ kind: 'permanent' }, 1), { kind: 'give-up', as: 'module-failed' });
    assert.deepEqual(afterSetUpFailure({ kind: 'unknown' }, 2), { kind: 'again', afterMs: 4_000 });
    assert.deepEqual(afterSetUpFailure({ kind: 'unknown' }, 3), { kind: 'give-up', as: 'module-failed' });
  });

  it('transient is waited for ever longer, a minute at most, and then costs the slice', () => {
    const pauses = [1, 2, 3, 4, 5, 6, 7, 8].map((tries) => afterSetUpFailure({ kind: 'transient' }, tries));
    assert.deepEqual(
      pauses.map((verdict) => (verdict.kind === 'again' ? verdict.afterMs / 1000 : verdict.as)),
      [2, 4, 8, 16, 32, 60, 60, 'host-bad'],
    );
  });
});
