import { usdText } from '../../../domain/units.js';
import { type AcceleratorType, findAccelerator, acceleratorHint } from '../../../domain/accelerators.js';
import { usdPerChipHour } from '../../../domain/machine-kinds/cloud-tpu/type-zones.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';

/** Minutes to wait for the slice. The other limit is for its deletion: after it, the run costs more than announced. */
export const WAIT_MINUTES = 10;
const DELETION_MINUTES = 10;

/** The maximum cost of the run in USD, by our price table. @throws CliError if that is unknown or more than `spend` */
export function priceBound(type: AcceleratorType, zone: string, spend: number): number {
  const chipHour = usdPerChipHour(type, zone, 'spot');
  if (chipHour === undefined)
    throw new CliError(
      ExitCode.Usage,
      `jobctl knows no spot price of ${type.type} in ${zone}, so it cannot keep to --spend`,
      'zones with a price of v5litepod-1: us-central1-a, us-east1-c, us-west4-a, us-east5-a, us-south1-a, europe-west4-b',
    );
  const usd = (chipHour * type.chips * (WAIT_MINUTES + DELETION_MINUTES)) / 60;
  if (usd <= spend) return usd;
  throw new CliError(
    ExitCode.Refused,
    `${type.type} in ${zone} may cost ${usdText(usd)}: ${type.chips} chips at $${chipHour} for ${WAIT_MINUTES + DELETION_MINUTES} minutes`,
    `that is more than --spend ${spend}; take a smaller type, such as v5litepod-1`,
  );
}

/** The type that `--accelerator` names. @throws CliError if there is no such type */
export function typeOf(name: string): AcceleratorType {
  const type = findAccelerator(name);
  if (type !== undefined) return type;
  throw new CliError(
    ExitCode.Usage,
    `--accelerator: '${name}' is no Cloud TPU type`,
    ...acceleratorHint(name).split('\n'),
  );
}
