import { log } from '@temporalio/activity';
import type { StorePort } from '../cloud/store/port.js';
import { CloudRefused, type OwnedResource } from '../cloud/tpu/port.js';
import { googleProjectObject, googleProjectOf, googleProjectsPrefix } from '../domain/store-layout.js';
import type { ActivityDependencies } from './dependencies.js';

/** Writes down that slices of ours may be in that project; repeating is safe. */
export async function rememberGoogleProject(store: StorePort, googleProject: string): Promise<void> {
  await store.write(googleProjectObject(googleProject), '', 'absent');
}

/** What is ours in the cloud, wherever a job of ours ever was. */
export interface OwnedEverywhere {
  readonly owned: readonly OwnedResource[];
  /** Projects that refused for good: deleted, or rights were taken away. Nothing is known of them. */
  readonly unlisted: readonly string[];
}

/**
 * Lists the worker's own Google project and all in which a job was accepted. Another project that refuses is passed over: a
 * project that somebody deleted must not stop the janitor and the quota of all others.
 * @throws CloudRefused from the worker's own; CloudUnavailable from any, since what may pass proves nothing
 */
export async function listOwnedEverywhere({
  tpu,
  store,
  installation,
}: Pick<ActivityDependencies, 'tpu' | 'store' | 'installation'>): Promise<OwnedEverywhere> {
  const { googleProject: own, owner } = installation;
  const remembered = (await store.list(googleProjectsPrefix)).map(({ name }) => googleProjectOf(name));
  const unlisted: string[] = [];
  const listings = [...new Set([own, ...remembered])].map(async (googleProject) => {
    try {
      return await tpu.listOwned(googleProject, owner);
    } catch (error) {
      if (!(error instanceof CloudRefused) || googleProject === own) throw error;
      log.warn(`what is ours in Google project ${googleProject} is not known: ${error.message}`);
      unlisted.push(googleProject);
      return [];
    }
  });
  return { owned: (await Promise.all(listings)).flat(), unlisted };
}
