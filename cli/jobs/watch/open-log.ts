import type { StoreReader } from '../../../cloud/store/port.js';
import { type FollowedLog, LogFollower, type LogSelection, type LogSink } from '../../../client/log-follower.js';
import { openMarks } from '../../place/connect.js';
import type { StorePlace } from '../../place/context.js';

/** Opens a growing log: from a server, or by listings of the bucket. */
export async function openLog(
  place: StorePlace,
  store: StoreReader,
  selection: LogSelection,
  sink: LogSink,
): Promise<FollowedLog> {
  if (!('server' in place)) return new LogFollower(store, selection, sink, openMarks(place));
  const [{ ServedLog }, { serverOptionsOf }] = await Promise.all([
    import('../../../client/http/served-log.js'),
    import('../../place/login/server-access.js'),
  ]);
  return new ServedLog(serverOptionsOf(place.server), selection, sink);
}
