import type { GroupRow } from '../../client/group-rows.js';
import type { AccessObject } from '../../domain/access.js';
import type { Services } from '../services.js';
import type { Serve } from './serve.js';

/** Routes of groups, each of which is one submitted array (docs/adr/0157). The gate treats a group like a job. */
export function registerGroups(serve: Serve, { client, gate, signer }: Services): void {
  const asksItself = { asksItself: true } as const;

  serve('listGroups', async ({ query: { limit, ...filter } }) => {
    return { rows: (await client.groups(filter, limit)).map((row) => ({ ...row })) as never };
  });

  serve(
    'group',
    async ({ call, params: { id } }) => {
      const row = await client.group(id);
      await gate.about(call, 'status', objectOf(row));
      return { ...row };
    },
    asksItself,
  );

  serve(
    'describeGroup',
    async ({ call, params: { id } }) => {
      await gate.about(call, 'describe', objectOf(await client.group(id)));
      return (await client.describeGroup(id)) as never;
    },
    asksItself,
  );

  serve(
    'cancelGroup',
    async ({ call, params: { id }, body: { from, verb } }) => {
      await gate.about(call, 'cancel', objectOf(await client.group(id)));
      const asker = { ...(from !== undefined && { from }), ...(verb !== undefined && { verb }) };
      return { state: await client.cancelGroup(id, { by: call.caller.id, ...asker }) };
    },
    asksItself,
  );

  serve(
    'retryGroup',
    async ({ call, params: { id }, body: { from } }) => {
      await gate.about(call, 'restart', objectOf(await client.group(id)));
      const message = await client.retryGroup(id, call.caller.id, {
        ...(from !== undefined && { from }),
        ...(!gate.isTrusted && {
          authorize: (prefix, submission) => signer.signRetry(id, prefix, submission, Date.now()),
        }),
      });
      return { message };
    },
    asksItself,
  );

  serve(
    'beginGroup',
    async ({ call, params: { id }, body: { from } }) => {
      await gate.about(call, 'restart', objectOf(await client.group(id)));
      return { message: await client.beginGroup(id, call.caller.id, from === undefined ? {} : { from }) };
    },
    asksItself,
  );
}

/** Temporal's value for an attribute that a workflow does not have. */
const NONE = '-';

/** The gate's object of a group. */
export const objectOf = ({ id, user, project, pool }: GroupRow): AccessObject => ({
  ...{ job: id, owner: user, pool },
  project: project === NONE ? '' : project,
});
