/** A small job; a case names only what matters to it. */
export function jobFile(
  command: string | undefined,
  more: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const { tpu, ...rest } = more as { tpu?: object };
  return {
    name: 'e2e',
    tpu: {
      accelerator: 'v5litepod-16',
      zone: 'us-central1-a',
      allocation_mode: 'queued-resources',
      pricing: 'spot',
      ...tpu,
    },
    ...(command === undefined ? {} : { command: { run: command } }),
    ...rest,
  };
}

/** For `jobFile`: a set-up that takes five minutes, whose process the hosts can be asked for. */
export const SLOW_SET_UP = {
  setup: { modules: ['slow', 'command'] },
  modules: { slow: { setup: [{ name: 'sleep', run: 'echo begun; sleep 300' }] } },
};
