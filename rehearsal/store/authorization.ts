import type { AccessControl, Caller, CallHeaders } from '../access/access-control.js';
import { isInScope, mayDo } from '../access/access-control.js';
import type { StoreParts } from './call.js';
import type { StoreMethodName } from './calls.js';
import { storeErrors } from './store-error.js';

/** A call as the check of rights sees it. */
export interface AskedStoreCall {
  readonly method: StoreMethodName;
  readonly headers: CallHeaders;
  /** Whether the call would replace an existing object. */
  readonly replaces: boolean;
}

/** The store's questions about its callers. */
export interface StoreRights {
  /** Throws StoreError if the caller may not make the call. */
  readonly authorize: (call: AskedStoreCall) => void;
  readonly granted: StoreParts['granted'];
}

/**
 * Permissions of each call (cloud.google.com/storage/docs/access-control/iam-json, 2026-11). Refusals name the first missing one.
 */
const PERMISSIONS: Readonly<Record<StoreMethodName, readonly string[]>> = {
  'buckets.list': ['storage.buckets.list'],
  'buckets.insert': ['storage.buckets.create'],
  'buckets.get': ['storage.buckets.get'],
  'buckets.patch': ['storage.buckets.update', 'storage.buckets.get'],
  'buckets.update': ['storage.buckets.update', 'storage.buckets.get'],
  'buckets.delete': ['storage.buckets.delete'],
  'buckets.getStorageLayout': ['storage.objects.list'],
  'buckets.getIamPolicy': ['storage.buckets.getIamPolicy'],
  'buckets.setIamPolicy': ['storage.buckets.setIamPolicy'],
  // Any caller may ask about itself.
  'buckets.testIamPermissions': [],
  'objects.testIamPermissions': [],
  'folders.list': ['storage.objects.list'],
  'managedFolders.list': ['storage.objects.list'],
  'objects.list': ['storage.objects.list'],
  'objects.get': ['storage.objects.get'],
  'objects.insert': ['storage.objects.create'],
  // The session's address is the right to continue it.
  'objects.insert.resume': [],
  'objects.insert.cancel': [],
  'objects.patch': ['storage.objects.update', 'storage.objects.get'],
  'objects.update': ['storage.objects.update', 'storage.objects.get'],
  'objects.move': ['storage.objects.move', 'storage.objects.create', 'storage.objects.delete'],
  'objects.delete': ['storage.objects.delete'],
  'objects.compose': ['storage.objects.create', 'storage.objects.get'],
  'objects.copy': ['storage.objects.get', 'storage.objects.create'],
  'objects.rewrite': ['storage.objects.get', 'storage.objects.create'],
};
const NOUNS: Readonly<Record<string, string>> = {
  'serviceusage.services.use': 'project',
  'storage.buckets.create': 'project',
  'storage.buckets.list': 'project',
  'storage.objects.list': 'bucket',
};

/** Google's client libraries send no token if STORAGE_EMULATOR_HOST names a store. */
const LOGIN_SUFFICES = { loginSuffices: true };

export function storeRights(access: AccessControl): StoreRights {
  return {
    authorize({ method, headers, replaces }) {
      const permissions = PERMISSIONS[method];
      if (permissions.length === 0 && !method.endsWith('.testIamPermissions')) return;
      const wanted = [
        ...(headers.userProject === undefined ? [] : ['serviceusage.services.use']),
        ...permissions,
        // Overwriting includes deleting: the right to create is not enough.
        ...(replaces ? ['storage.objects.delete'] : []),
      ];
      refuse(access.caller(headers, LOGIN_SUFFICES), method, wanted);
    },
    granted(headers, permissions) {
      const caller = access.caller(headers, LOGIN_SUFFICES);
      return permissions.filter((permission) => mayDo(caller, permission));
    },
  };
}

function refuse(caller: Caller, method: StoreMethodName, wanted: readonly string[]): void {
  if (caller.kind === 'nobody' && caller.why !== 'no-token') throw storeErrors.badToken();
  const missing = wanted.find((permission) => !mayDo(caller, permission));
  if (caller.kind === 'nobody') throw storeErrors.anonymous(missing ?? 'storage.buckets.get', nounOf(missing ?? ''));
  const isRead = /\.(get|list)$/.test(method);
  const scopes = ['devstorage.full_control', 'devstorage.read_write', ...(isRead ? ['devstorage.read_only'] : [])];
  if (!isInScope(caller, scopes)) throw storeErrors.outOfScope();
  if (missing === undefined) return;
  const who = caller.kind === 'principal' ? caller.principal.email : 'anybody';
  throw storeErrors.denied(who, missing, nounOf(missing));
}

function nounOf(permission: string): string {
  const noun = NOUNS[permission] ?? (permission.startsWith('storage.buckets.') ? 'bucket' : 'object');
  return noun === 'project' ? 'Google Cloud project' : `Google Cloud Storage ${noun}`;
}
