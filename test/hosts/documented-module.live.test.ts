import assert from 'node:assert/strict';
import { SourcesWithModule } from './documented-sources.js';

describe("docs/modules.md shows a module of jobctl's, with which", function () {
  this.timeout(120_000);
  let sources: SourcesWithModule;
  before(() => void (sources = new SourcesWithModule()));
  after(() => sources.remove());

  it('everything compiles, the field of the job spec too', () => assert.equal(sources.typeErrors(), ''));
});
