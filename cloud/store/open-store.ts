import { storePlace } from '../../domain/store-place.js';
import { ensureFolder, FolderStore } from './folder.js';
import { createStore, ensureBucket, type StoreOptions } from './gcs.js';
import type { StorePort } from './port.js';
import { ensureS3Bucket, S3Store } from './s3.js';

/**
 * Opens the store that `bucket` names: Cloud Storage, S3 or a folder (`storePlace`). It sends no request yet.
 * @param options `endpoint` for the kind of store that is named
 * @throws RangeError if it names no store
 */
export function openStore(options: StoreOptions): StorePort {
  const { bucket, endpoint } = options;
  const place = storePlace(bucket);
  switch (place.kind) {
    case 'google':
      return createStore({ ...options, bucket: place.bucket });
    case 's3':
      return new S3Store({ ...place, ...(endpoint !== undefined && { endpoint }) });
    case 'folder':
      return new FolderStore(place.path);
  }
}

/** Makes the store that `bucket` names if it does not exist. Repeating is safe. */
export async function ensureStore(options: StoreOptions): Promise<'created' | 'exists'> {
  const { bucket, endpoint } = options;
  const place = storePlace(bucket);
  switch (place.kind) {
    case 'google':
      return ensureBucket({ ...options, bucket: place.bucket });
    case 's3':
      return ensureS3Bucket({ ...place, ...(endpoint !== undefined && { endpoint }) });
    case 'folder':
      return ensureFolder(place.path);
  }
}
