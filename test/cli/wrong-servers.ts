import type { OtherServer } from './other-servers.js';
import { LIST, NOWHERE, type WrongEnvironment } from './wrong-environments.js';

const WHICH = '  is the address right (TEMPORAL_ADDRESS, --temporal-address), and does the server run?';
const START = '  start one with `jobctl dev up`, or set TEMPORAL_ADDRESS (or --temporal-address)';
const TRY_AGAIN = '  try again; `jobctl dev status` shows the local stack, if this is one';
const ADDRESS = '  HOST:PORT is wanted, such as temporal.example.com:7233';
const PORT = '  a port is a number from 1 to 65535; Temporal listens at 7233';

const address = (value: string, wrong: string, remedy: string): WrongEnvironment => ({
  ...LIST,
  env: { TEMPORAL_ADDRESS: value },
  exitCode: 2,
  wants: [`TEMPORAL_ADDRESS: '${value}' ${wrong}`, remedy],
});

const temporalAt = (server: OtherServer, why: string, remedy: string): WrongEnvironment => ({
  ...LIST,
  server,
  env: { TEMPORAL_ADDRESS: '{AT}' },
  exitCode: 5,
  wants: [`Temporal at {AT} cannot be reached: ${why}`, `  ${remedy}`, START],
});

const storeAt = (server: OtherServer, ...wants: readonly string[]): WrongEnvironment => ({
  args: ['quota', 'show'],
  server,
  env: { ...NOWHERE, JOBCTL_BUCKET: 'team-jobs', JOBCTL_STORE_ENDPOINT: 'http://{AT}' },
  exitCode: 5,
  wants: [`store: read gs://team-jobs/quota/default/state.json: ${wants[0]}`, ...wants.slice(1)],
});

/** Addresses that cannot be, and servers that are something else. */
export const WRONG_SERVERS: Readonly<Record<string, WrongEnvironment>> = {
  'an address whose port is no number': address('localhost:7233x', 'has no port that exists: 7233x', PORT),
  'an address without a host': address(':7233', 'names no host', ADDRESS),
  'an address without a port behind its colon': address('localhost:', 'has no port that exists: ', PORT),
  'an address with a blank': address('my server:7233', 'has a blank in it', ADDRESS),
  'an IPv6 address without brackets': address(
    '::1:7233',
    'has more than one colon',
    `${ADDRESS}; an IPv6 address stands in brackets: [::1]:7233`,
  ),
  'a host that nobody has': {
    ...LIST,
    env: { TEMPORAL_ADDRESS: 'no-such-host.invalid:7233' },
    exitCode: 5,
    wants: [
      'Temporal at no-such-host.invalid:7233 cannot be reached: no computer has the name no-such-host.invalid',
      WHICH,
      START,
    ],
  },
  'a web server in the place of Temporal': temporalAt(
    'a web server',
    'a web server answers there, and no Temporal server',
    "is it the port of Temporal's Web UI? The server itself listens at 7233 unless it is told otherwise",
  ),
  'an SSH server in the place of Temporal': temporalAt(
    'an SSH server',
    'what answers there is no Temporal server',
    'is the port right (TEMPORAL_ADDRESS, --temporal-address)? Temporal listens at 7233 unless it is told otherwise',
  ),
  'a tunnel to a Temporal that is gone': temporalAt(
    'one that closes at once',
    'the connection is closed as soon as it is made',
    'of a tunnel or port-forward: does its other end run?',
  ),
  'a Temporal that says nothing': temporalAt(
    'one that says nothing',
    'the connection is taken, and nothing answers',
    'is the port right (TEMPORAL_ADDRESS, --temporal-address), and does the server still work?',
  ),
  'TLS to a server without TLS': {
    ...LIST,
    server: 'a web server',
    env: { TEMPORAL_ADDRESS: '{AT}', TEMPORAL_TLS: 'true' },
    exitCode: 5,
    wants: [
      'Temporal at {AT} cannot be reached: this client speaks TLS, and the server does not',
      '  unset TEMPORAL_TLS and TEMPORAL_API_KEY (a key turns TLS on)',
      START,
    ],
  },
  'a store where nothing listens': {
    args: ['quota', 'show'],
    env: { ...NOWHERE, JOBCTL_BUCKET: 'team-jobs', JOBCTL_STORE_ENDPOINT: 'http://127.0.0.1:1' },
    exitCode: 5,
    wants: ['store: read gs://team-jobs/quota/default/state.json: nothing listens at http://127.0.0.1:1', TRY_AGAIN],
  },
  'a store that forbids': storeAt(
    'one that forbids',
    "this login has no permission storage.objects.get on gs://team-jobs, or that does not exist: an owner runs 'gcloud storage buckets add-iam-policy-binding gs://team-jobs --member=user:EMAIL --role=roles/storage.objectAdmin'",
  ),
  'a proxy in front of the store': storeAt(
    'a proxy that forbids',
    'the answer is a web page, so a proxy or another server gave it (HTTP 403)',
    '  does your Google login have the right? `jobctl doctor --gcp` looks',
  ),
  'a bucket that does not exist': storeAt(
    'one without the bucket',
    `gs://team-jobs does not exist (is the name right?); to make it: curl -H 'content-type: application/json' -d '{"name":"team-jobs"}' 'http://{AT}/storage/v1/b?project=PROJECT'`,
  ),
  'a store that is broken': storeAt('one that is broken', 'Backend Error (HTTP 500)', TRY_AGAIN),
  'a tunnel to a store that is gone': storeAt(
    'one that closes at once',
    'http://{AT} closed the connection without an answer (ECONNRESET)',
    TRY_AGAIN,
  ),
  'an SSH server in the place of the store': storeAt(
    'an SSH server',
    'what listens at http://{AT} does not speak HTTP',
    TRY_AGAIN,
  ),
};
