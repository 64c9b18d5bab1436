/** Runs a verb on a job, or on a group if the single id is a group's. */
export async function orGroup(ofJob: () => Promise<number>, ofGroup: (id: string) => Promise<number>): Promise<number> {
  try {
    return await ofJob();
  } catch (error) {
    const { name, isGroup, id } = error as { name?: string; isGroup?: boolean; id?: string };
    if (name !== 'JobNotFound' || isGroup !== true || id === undefined) throw error;
    return ofGroup(id);
  }
}
