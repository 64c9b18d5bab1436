/** A job whose every value is unmistakable, but for what stays readable: name, project, user, pool and accelerator. */
export interface MarkedJob {
  readonly job: Record<string, unknown>;
  /** Text of the file as submitted. */
  readonly source: string;
  readonly markers: readonly string[];
}

/** Zones of Google's that no rehearsed project has by itself, and that nothing but a marked job names. */
const ZONES: Readonly<Record<string, string>> = { seal: 'me-west1-b', open: 'southamerica-west1-c' };

export const markedZone = (tag: string): string => ZONES[tag] ?? 'asia-southeast3-b';

/** @param tag small letters: tells one job's markers from another's */
export function markedJob(tag: string, name: string, script: string): MarkedJob {
  const mark = (where: string): string => `mk${tag}${where}`;
  const job = {
    name,
    pool: tag,
    grace: 1,
    env: { MARKED: mark('env') },
    tpu: {
      accelerator: 'v5litepod-8',
      zone: markedZone(tag),
      allocation_mode: 'queued-resources',
      pricing: 'spot',
      network: mark('network'),
      subnetwork: mark('subnetwork'),
      service_account: `${mark('account')}@example.iam.gserviceaccount.com`,
      scopes: [`https://www.googleapis.com/auth/${mark('scope')}`],
      startup_script: `#!/bin/sh\n# ${mark('startup')}\n`,
      tags: [mark('tag')],
      metadata: { note: mark('metadata') },
      labels: { team: mark('label') },
    },
    setup: { modules: ['command'] },
    // Sections that no module names: checked for their form, and kept with the job as they are.
    venv: { name: mark('venv'), requirements_file: `${mark('requirements')}.txt` },
    docker: { image: mark('image'), env_vars: [`A=${mark('dockerenv')}`], mount_dirs: [`/${mark('mount')}`] },
    gcsfuse: { bucket_name: mark('bucket'), mount_path: `/${mark('path')}` },
    command: { run: `: ${mark('command')}\n${script}` },
  };
  const source = `# ${mark('comment')}\n${JSON.stringify(job)}`;
  const marks = source.match(new RegExp(`mk${tag}[a-z]+`, 'g')) ?? [];
  return { job, source, markers: [...new Set([...marks, markedZone(tag)])] };
}

/** In what of these bytes a text may stand: as it is, in hexadecimal as PostgreSQL prints bytes, in base64. */
export function isFoundIn(bytes: Buffer, text: string): boolean {
  return spellings(text).some((spelling) => bytes.includes(spelling));
}

function spellings(text: string): readonly string[] {
  // The three ways a text can lie on base64's groups of three bytes, without the groups that it shares with its neighbours.
  const base64 = [0, 1, 2].map((before) => {
    const whole = Buffer.concat([Buffer.alloc(before), Buffer.from(text)]);
    const groups = Math.floor(whole.length / 3) * 4;
    return whole.toString('base64').slice(before === 0 ? 0 : 4, groups);
  });
  return [text, Buffer.from(text).toString('hex'), ...base64];
}
