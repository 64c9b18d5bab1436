import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { NEEDED_RIGHTS } from '../../cloud/machines/kubernetes/rights.js';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

describe('deploy/kubernetes/rbac.yaml', () => {
  it('grants the rights that jobctl doctor looks for, and no other', () => {
    const text = readFileSync(new URL('../../deploy/kubernetes/rbac.yaml', import.meta.url), 'utf8');
    const [role] = parseAllDocuments(text).map((each) => each.toJSON() as { readonly rules: readonly Rule[] });
    const granted = (role?.rules ?? []).flatMap(({ apiGroups, resources, verbs }) =>
      resources.map((resource) => `${apiGroups.join()} ${resource}: ${verbs.join(', ')}`),
    );
    const needed = NEEDED_RIGHTS.map(({ group, resource, subresource, verbs }) => {
      const name = subresource === undefined ? resource : `${resource}/${subresource}`;
      return `${group} ${name}: ${verbs.join(', ')}`;
    });
    assert.deepEqual(granted.toSorted(), needed.toSorted());
  });
});
