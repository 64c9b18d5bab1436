import { gcloudStorageInShort } from './conformance/storage/gcloud.js';
import { StoragePlace } from './conformance/storage/place.js';

/** The whole suite: test/long/rehearsal-storage.test.ts. */
describe('gcloud storage, unmodified', () => {
  const place = new StoragePlace();
  before(() => place.start());
  after(() => place.stop());

  gcloudStorageInShort(place);
});
