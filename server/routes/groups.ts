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

  serve(
    'stopGroup',
    async ({ call, params: { id }, body: { from, release } }) => {
      await gate.about(call, 'stop', objectOf(await client.group(id)));
      const wish = { ...(from !== undefined && { from }), ...(release !== undefined && { release }) };
      return { message: await client.stopGroup(id, call.caller.id, wish) };
    },
    asksItself,
  );

  serve(
    'groupPriority',
    async ({ call, params: { id }, body: { priority } }) => {
      const row = await client.group(id);
      await gate.about(call, 'priority', objectOf(row));
      // The call is made in the user's name, and the pool's history records the caller.
      return { message: await client.quota(row.pool).setGroupPriority(id, priority, row.user, call.caller.id) };
    },
    asksItself,
  );

  serve(
    'resumeGroup',
    async ({ call, params: { id }, body: { from } }) => {
      await gate.about(call, 'resume', objectOf(await client.group(id)));
      return { message: await client.resumeGroup(id, call.caller.id, from === undefined ? {} : { from }) };
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
