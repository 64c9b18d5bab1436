import type { StorePort } from './port.js';

/** Reports the end of each call to `onCall`: `OK`, or the name of its error. */
export function meteredStore(store: StorePort, onCall: (method: string, code: string) => void): StorePort {
  const metered = async <T>(method: string, call: Promise<T>): Promise<T> => {
    try {
      const answer = await call;
      onCall(method, 'OK');
      return answer;
    } catch (error) {
      onCall(method, error instanceof Error ? error.name : 'Error');
      throw error;
    }
  };
  return {
    bucket: store.bucket,
    probe: () => metered('probe', store.probe()),
    write: (...args) => metered('write', store.write(...args)),
    upload: (...args) => metered('upload', store.upload(...args)),
    uploadSession: (...args) => metered('uploadSession', store.uploadSession(...args)),
    replace: (...args) => metered('replace', store.replace(...args)),
    read: (...args) => metered('read', store.read(...args)),
    stat: (...args) => metered('stat', store.stat(...args)),
    list: (...args) => metered('list', store.list(...args)),
    find: (...args) => metered('find', store.find(...args)),
    remove: (...args) => metered('remove', store.remove(...args)),
    downloadUrl: (name) => store.downloadUrl(name),
    uploadUrl: (...args) => store.uploadUrl(...args),
    objectUrl: (...args) => store.objectUrl(...args),
    signedUrl: (...args) => metered('signedUrl', store.signedUrl(...args)),
  };
}
