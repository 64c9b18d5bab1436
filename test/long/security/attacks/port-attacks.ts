import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { firstOutput } from '../../../first-output.js';
import { pickSshPort } from '../../../../rehearsal/ssh-port.js';
import type { RehearsalEndpoints } from '../../../../rehearsal/index.js';
import { SUBNET_OCTET } from '../../../../rehearsal/test/scratch.js';
import { callAsOther } from '../../../security/other-login.js';
import { makeCall, type RawAnswer, type RawCall } from '../../../security/raw-calls.js';
import { attacks } from '../../../security/rehearsal-attacks.js';
import type { Attack, Attacked, Result } from './attack.js';

const TSX = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
const hasEffect = ({ name, status }: RawAnswer): boolean => (name === 'grpc' ? status === 0 : status === 200);

/** A rehearsal as `dev up` starts it, while `use` runs. */
async function withRehearsal<T>(
  { root, isOld, scratch }: Attacked,
  use: (at: RehearsalEndpoints) => Promise<T>,
): Promise<T> {
  const places = ['--state-dir', scratch(), '--ssh-port', String(await pickSshPort(SUBNET_OCTET))];
  const more = ['--subnet-octet', String(SUBNET_OCTET), ...(isOld ? [] : ['--callers', 'login'])];
  const args = ['--import', TSX, join(root, 'rehearsal/main.ts'), ...places, ...more];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  try {
    return await use(JSON.parse(await firstOutput(child)) as RehearsalEndpoints);
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}

function resultOf(answers: readonly RawAnswer[]): Result {
  const taken = answers.filter(hasEffect).map(({ name }) => name);
  const statuses = [...new Set(answers.map(({ status }) => status))].join(', ');
  return taken.length > 0
    ? { hasSucceeded: true, seen: `taken: ${taken.join(', ')}` }
    : { hasSucceeded: false, seen: `all ${answers.length} were refused (${statuses}; 16 and 7 are gRPC's)` };
}

/** What the old rehearsal had too. */
const callsOf = (endpoints: RehearsalEndpoints): readonly RawCall[] =>
  attacks(endpoints).filter(({ name }) => !name.startsWith('kubernetes'));

const otherLogin: Attack = {
  finding: 'F4',
  title: 'another login of the computer calls each API of the local stack',
  mode: 'trusted',
  run: (attacked) => withRehearsal(attacked, async (at) => resultOf(callAsOther(callsOf(at)))),
};

const webPage: Attack = {
  finding: 'F8',
  title: "a page in the owner's browser calls each API, as `text/plain`, under a name that was bound anew",
  mode: 'trusted',
  run: (attacked) =>
    withRehearsal(attacked, async (at) => {
      const answers: RawAnswer[] = [];
      for (const call of callsOf(at)) answers.push(await makeCall(asPage(call)));
      return resultOf(answers);
    }),
};

/** Without a preflight, as browsers send it. */
const asPage = (call: RawCall): RawCall => {
  const name = 'evil.example:7332';
  if (call.wire === 'grpc') return { ...call, headers: { ...call.headers, ':authority': name } };
  const type = call.headers?.['content-type'] === undefined ? {} : { 'content-type': 'text/plain' };
  return { ...call, headers: { ...call.headers, ...type, host: name, origin: 'http://evil.example' } };
};

export const PORT_ATTACKS: readonly Attack[] = [otherLogin, webPage];
