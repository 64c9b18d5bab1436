import assert from 'node:assert/strict';
import { afterSetUpFailure, judgeSetUpFailure, type SetUpFailure } from '../../domain/set-up-record.js';

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
  // The words of pip 23.2, as tried here; those of its servers, of uv, conda and mamba are written from memory.
  ['permanent', "ERROR: Could not open requirements file: [Errno 2] No such file or directory: '/root/other.txt'"],
  [
    'permanent',
    'ERROR: Could not open requirements file: 404 Client Error: Not Found for url: https://example.com/requirements.txt',
  ],
  [
    'permanent',
    "Obtaining file:///root (from -r r.txt (line 1))\nERROR: file:///root (from -r r.txt (line 1)) does not appear to be a Python project: neither 'setup.py' nor 'pyproject.toml' found.",
  ],
  [
    'permanent',
    "WARNING: Requirement './local.whl' looks like a filename, but the file does not exist\nERROR: local.whl is not a valid wheel filename.",
  ],
  [
    'permanent',
    "ERROR: Invalid requirement: './a/b' (from line 1 of r.txt)\nHint: It looks like a path. File './a/b' does not exist.",
  ],
  ['permanent', '__main__.py: error: no such option: --foo\n\nERROR: Invalid requirement: --foo'],
  [
    'permanent',
    "ERROR: Could not install packages due to an OSError: [Errno 2] No such file or directory: '/root/local-1.0-py3-none-any.whl'",
  ],
  ['permanent', "ERROR: Package 'train' requires a different Python: 3.10.12 not in '>=3.12'"],
  ['permanent', 'ERROR: jax-0.1-cp39-cp39-linux_x86_64.whl is not a supported wheel on this platform.'],
  [
    'permanent',
    'ERROR: Cannot install a==1 and b==2 because these package versions have conflicting dependencies.\nERROR: ResolutionImpossible: for help visit https://pip.pypa.io/',
  ],
  ['permanent', "ERROR: Double requirement given: numpy==2 (already in numpy==1, name='numpy')"],
  ['permanent', 'error: externally-managed-environment\n\n× This environment is externally managed'],
  ['permanent', 'error: File not found: `other.txt`'],
  ['permanent', 'error: Distribution not found at: file:///root/local.whl'],
  ['permanent', "error: Couldn't parse requirement in `requirements.txt` at position 0"],
  ['permanent', "EnvironmentFileNotFound: '/root/environment.yml' file not found"],
  [
    'permanent',
    "EnvironmentFileExtensionNotValid: '/root/e.txt' file extension must be one of '.txt', '.yaml' or '.yml'",
  ],
  ['permanent', "InvalidVersionSpec: Invalid version '3.11.*.*': duplicated wildcard"],
  ['permanent', 'UnavailableInvalidChannel: HTTP 404 NOT FOUND for channel nobody <https://conda.anaconda.org/nobody>'],
  ['permanent', 'LibMambaUnsatisfiableError: Encountered problems while solving:\n  - nothing provides jaxx'],
  ['permanent', 'error    libmamba Could not solve for environment specs'],
  [
    'permanent',
    "Pip subprocess error:\nERROR: Could not open requirements file: [Errno 2] No such file or directory: '/root/r.txt'\n\nfailed\n\nCondaEnvException: Pip failed",
  ],
  [
    'transient',
    'ERROR: Could not open requirements file: 503 Server Error: Service Unavailable for url: https://example.com/r.txt',
  ],
  ['transient', 'ERROR: HTTP error 502 while getting https://files.pythonhosted.org/packages/x.whl'],
  ['transient', 'ERROR: 429 Client Error: Too Many Requests for url: https://pypi.org/simple/jax/'],
  [
    'transient',
    "ERROR: Could not install packages due to an OSError: HTTPSConnectionPool(host='pypi.org', port=443): Max retries exceeded with url: /simple/jax/ (Caused by ResponseError('too many 500 error responses'))",
  ],
  [
    'transient',
    "pip._vendor.urllib3.exceptions.ProtocolError: ('Connection broken: IncompleteRead(1 bytes read, 9 more expected)')",
  ],
  [
    'transient',
    "pip._vendor.urllib3.exceptions.ReadTimeoutError: HTTPSConnectionPool(host='files.pythonhosted.org', port=443): Read timed out.",
  ],
  ['transient', 'CondaHTTPError: HTTP 522 ORIGIN CONNECTION TIME-OUT for url <https://conda.anaconda.org/x>'],
  ['transient', 'critical libmamba Download error (28) Timeout was reached [https://conda.anaconda.org/x]'],
  ['transient', 'CondaError: Downloaded bytes did not match Content-Length'],
  ['transient', 'conda.exceptions.LockError: Failed to acquire lock.'],
  ['transient', 'fatal: early EOF\nfatal: fetch-pack: invalid index-pack output'],
  ['unknown', 'ERROR: Failed building wheel for flash-attn'],
  ['unknown', 'Traceback (most recent call last):\nValueError: 503 is too much'],
  ['unknown', 'make: *** [Makefile:3: all] Error 2'],
  ['unknown', ''],
];

describe('what a failed step of a set-up means', () => {
  for (const [kind, text] of TEXTS)
    it(`${kind}: ${text.slice(0, 70).replaceAll('\n', ' ')}`, () =>
      assert.equal(judgeSetUpFailure(1, text).kind, kind));

  it('transient: exit code 255, whatever was said', () => assert.equal(judgeSetUpFailure(255, '').kind, 'transient'));

  it('exit code 137 names memory as the likely reason, and stays unknown', () =>
    assert.deepEqual(judgeSetUpFailure(137, 'Killed'), {
      kind: 'unknown',
      reason: 'often because memory ran out, of which there is no proof here',
    }));

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
