import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { NEEDED_RIGHTS } from '../../cloud/machines/kubernetes/inspect.js';

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

  it('S14: binds an account of another namespace, which no file makes in a namespace of jobs', () => {
    interface Manifest {
      readonly kind: string;
      readonly metadata: { readonly name: string; readonly namespace?: string };
      readonly subjects?: readonly { readonly namespace?: string; readonly name: string }[];
    }
    const folder = new URL('../../deploy/kubernetes/', import.meta.url);
    const all = readdirSync(folder).flatMap((name) =>
      parseAllDocuments(readFileSync(new URL(name, folder), 'utf8')).map((each) => each.toJSON() as Manifest),
    );
    const accounts = all.filter(({ kind }) => kind === 'ServiceAccount').map(({ metadata }) => metadata);
    assert.deepEqual(accounts, [{ name: 'jobctl-worker', namespace: 'jobctl' }]);
    const subjects = all.flatMap(({ subjects: of = [] }) => of).map(({ name, namespace }) => ({ name, namespace }));
    assert.deepEqual(subjects, accounts);
    // `kubectl apply -n NAMESPACE` puts what names no namespace into that one.
    const roles = all.filter(({ kind }) => kind.startsWith('Role')).map(({ metadata }) => metadata.namespace);
    assert.deepEqual(roles, [undefined, undefined]);
  });
});
