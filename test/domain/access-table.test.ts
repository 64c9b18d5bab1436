import assert from 'node:assert/strict';
import { ACCESS_TABLE, ACCESS_VERBS, type AccessVerb } from '../../contract/access.js';
import { ACCESS_ROLES, type AccessRole, decideAccess } from '../../domain/access.js';
import { tableRows } from '../docs/tables.js';

/** Calls by the words that docs/access.md has for them, if those are not the verb's own. */
const SAID: Readonly<Record<string, AccessVerb>> = {
  wait: 'status',
  'schedule a job': 'schedule',
  'change a schedule': 'schedule-change',
  'resume or restart with another job file': 'edit',
  'log in to hosts': 'login',
  "names of a project's secrets": 'secret-names',
  'quota show': 'quota-show',
  capacity: 'quota-show',
  'quota plan': 'quota-plan',
  'quota apply': 'quota-apply',
  ...{ freeze: 'admission', drain: 'admission', open: 'admission' },
  release: 'quota-release',
  'audit log': 'audit',
};
/** The roles of each verb as the page has them. */
const documented = tableRows('docs/access.md', '| verb | owner |').flatMap(([calls, ...cells]) =>
  calls
    .replace(/ \(.*\)$/, '')
    .split(', ')
    .map((call) => [SAID[call] ?? call, ACCESS_ROLES.filter((_, at) => cells[at] === 'yes')] as const),
);
const object = { pool: 'default', project: 'vision', job: 'train-1', owner: 'alice' };

describe('the access table', () => {
  it('is the one of docs/access.md: every verb, every role', () => {
    assert.deepEqual([...new Set(documented.map(([verb]) => verb))].toSorted(), ACCESS_VERBS.toSorted());
    for (const [said, roles] of documented) {
      const verb = ACCESS_VERBS.find((each) => each === said) ?? assert.fail(`docs/access.md: ${said} is no verb`);
      const isAllowed = (role: AccessRole) =>
        decideAccess({ rule: ACCESS_TABLE[verb], subject: 'x', roles: [role], object }).isAllowed;
      assert.deepEqual(ACCESS_ROLES.filter(isAllowed), roles, said);
    }
  });

  it('allows nothing to whoever has no role', () => {
    for (const verb of ACCESS_VERBS)
      assert.equal(decideAccess({ rule: ACCESS_TABLE[verb], subject: 'x', roles: [], object }).isAllowed, false, verb);
  });

  it('opens reading to the pool, or closes it to the project, and changes nothing else', () => {
    for (const verb of ACCESS_VERBS) {
      const isReading = ['describe', 'logs', 'outputs', 'report'].includes(verb);
      const ask = (role: 'member' | 'authenticated', readers: 'owner' | 'project' | 'pool') =>
        decideAccess({ rule: ACCESS_TABLE[verb], subject: 'x', roles: [role], readers, object }).isAllowed;
      assert.equal(ask('authenticated', 'pool') !== ask('authenticated', 'project'), isReading, verb);
      assert.equal(ask('member', 'owner') !== ask('member', 'project'), isReading, verb);
    }
  });

  it('refuses with who, what, whose, and who may', () => {
    const answer = decideAccess({ rule: ACCESS_TABLE.cancel, subject: 'mallory', roles: ['authenticated'], object });
    assert.deepEqual(answer, {
      isAllowed: false,
      why: 'job train-1 of alice: mallory may not cancel it; allowed: alice, a service that may submit for them, admins of project vision, operators of pool default',
    });
  });
});
