import { withHost } from './session.js';
import { manyAreTaken } from './slow-reader.js';

describe('what a command writes is all there when it ends, however slowly it is taken', () => {
  it('from an ssh2 server', () => withHost(async ({ connection }) => void (await manyAreTaken(connection))));
});
