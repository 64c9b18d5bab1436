import ssh2 from 'ssh2';

/** What `work` did, and how many commands it sent over SSH: each is a round trip. */
export async function countingCalls<T>(
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly calls: number }> {
  const { prototype } = ssh2.Client;
  const { exec } = prototype;
  let calls = 0;
  prototype.exec = function (this: ssh2.Client, ...args: Parameters<typeof exec>) {
    calls += 1;
    return exec.apply(this, args);
  } as typeof exec;
  try {
    return { result: await work(), calls };
  } finally {
    prototype.exec = exec;
  }
}
