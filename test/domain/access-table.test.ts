import assert from 'node:assert/strict';
import { ACCESS_ROLES, ACCESS_VERBS, decideAccess } from '../../domain/access.js';

/** Written by hand from docs/access.md: + allowed. In the order owner, service, member, admin, operator, authenticated. */
const WANT: Readonly<Record<string, string>> = {
  submit: '++....',
  list: '.....+',
  status: '.....+',
  why: '.....+',
  describe: '+++++.',
  logs: '+++++.',
  outputs: '+++++.',
  cancel: '++.++.',
  stop: '++.++.',
  resume: '++.++.',
  restart: '++.++.',
  requeue: '++.++.',
  setup: '++.++.',
  edit: '++....',
  delete: '++.++.',
  priority: '++.++.',
  login: '+...+.',
  'secret-names': '..+++.',
  'quota-show': '.....+',
  'quota-plan': '.....+',
  'quota-apply': '....+.',
  admission: '....+.',
  'quota-release': '....+.',
  machines: '....+.',
  audit: '....+.',
};
const object = { pool: 'default', project: 'vision', job: 'train-1', owner: 'alice' };

describe('the access table', () => {
  it('is the documented one: every verb, every role', () => {
    const got = Object.fromEntries(
      ACCESS_VERBS.map((verb) => {
        const answers = ACCESS_ROLES.map((role) => decideAccess({ verb, subject: 'x', roles: [role], object }));
        return [verb, answers.map(({ isAllowed }) => (isAllowed ? '+' : '.')).join('')];
      }),
    );
    assert.deepEqual(got, WANT);
  });

  it('allows nothing to whoever has no role', () => {
    for (const verb of ACCESS_VERBS)
      assert.equal(decideAccess({ verb, subject: 'x', roles: [], object }).isAllowed, false, verb);
  });

  it('opens reading to the pool, or closes it to the project, and changes nothing else', () => {
    for (const verb of ACCESS_VERBS) {
      const isReading = ['describe', 'logs', 'outputs'].includes(verb);
      const ask = (role: 'member' | 'authenticated', readers: 'owner' | 'project' | 'pool') =>
        decideAccess({ verb, subject: 'x', roles: [role], readers, object }).isAllowed;
      assert.equal(ask('authenticated', 'pool') !== ask('authenticated', 'project'), isReading, verb);
      assert.equal(ask('member', 'owner') !== ask('member', 'project'), isReading, verb);
    }
  });

  it('refuses with who, what, whose, and who may', () => {
    const answer = decideAccess({ verb: 'cancel', subject: 'mallory', roles: ['authenticated'], object });
    assert.deepEqual(answer, {
      isAllowed: false,
      why: 'job train-1 of alice: mallory may not cancel it; allowed: alice, a service that may submit for them, admins of project vision, operators of pool default',
    });
  });
});
