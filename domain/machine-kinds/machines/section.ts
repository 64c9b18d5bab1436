import { z } from 'zod';
import { acceleratorNamed } from '../../accelerators.js';
import { oneOf, section, text, textMap, textValues, wholeNumber, given } from '../../job-file/fields.js';
import type { Report } from '../../job-file/report.js';
import type { Path } from '../../problem.js';
import { SECRET_NAME, SECRET_NAME_RULE, secretNamed } from '../../secrets.js';
import type { RequestContext, ResolvedRequest } from '../kind.js';
import {
  MACHINE,
  makerOf,
  type OwnMachine,
  type MachinesRequest,
  type MachinesSection,
  machinesType,
} from './words.js';

/** A name that quota files can hold beside TPU generations. */
const ACCELERATOR = /^[a-z]([a-z0-9-]{0,30}[a-z0-9])?$/;
const ACCELERATOR_RULE = 'small letters, digits and dashes, such as h100 or a100-80gb';

/**
 * The rule for a type of accelerator, in job files and pool files alike.
 * @param without the key to leave out for a machine that has none
 */
function checkType(type: string, path: Path, { report, without }: { report: Report; without: string }): void {
  const slice = acceleratorNamed(type);
  if (!ACCELERATOR.test(type)) report.wrong(path, type, 'no type of accelerator', ACCELERATOR_RULE);
  else if (type === MACHINE) report.wrong(path, type, 'what quota calls a machine without an accelerator', without);
  else if (slice !== undefined)
    report.wrong(path, type, 'a slice of Cloud TPU, and no type of accelerator', `write the type: ${slice.generation}`);
}

const LABEL = /^[a-z0-9]([a-z0-9._/-]{0,61}[a-z0-9])?$/i;

/** The rule for labels, in job files and pool files alike. */
function labelsOf({ labels }: Pick<MachinesForm, 'labels'>, path: Path, report: Report): Record<string, string> {
  const values = textValues(labels);
  for (const key of Object.keys(values))
    if (!LABEL.test(key))
      report.wrong([...path, 'labels', key], key, 'no name of a label', 'letters, digits, . _ / and -; 63 at most');
  return values;
}

/** The `machines` section with its defaults. The pool decides later which machines there are. */
export function resolveMachines(
  form: MachinesForm,
  { poolName }: RequestContext,
  report: Report,
): ResolvedRequest<MachinesSection> | undefined {
  const hosts = given(form.hosts) ?? 1;
  const request: MachinesRequest = {
    pool: poolName,
    hosts,
    ...acceleratorOf(form, hosts, report),
    labels: labelsOf(form, ['machines'], report),
  };
  return { request: { machines: request }, slice: { type: machinesType(request), hosts }, leftToPool: [] };
}

function acceleratorOf(form: MachinesForm, hosts: number, report: Report): Pick<MachinesRequest, 'accelerator'> {
  const type = given(form.accelerator);
  const count = given(form.count);
  if (type === undefined) {
    if (count !== undefined && !report.wasDropped(['machines', 'accelerator']))
      report.missing(['machines', 'accelerator'], 'count is of an accelerator, such as accelerator: h100');
    return {};
  }
  checkType(type, ['machines', 'accelerator'], { report, without: 'leave accelerator and count out' });
  if (count === undefined) {
    if (!report.wasDropped(['machines', 'count']))
      report.missing(['machines', 'count'], `how many ${type} the slice has on all its machines, such as count: 8`);
    return { accelerator: { type, perHost: 1 } };
  }
  if (count % hosts !== 0) {
    const hint = `machines of a slice are alike: a multiple of ${hosts}, or other hosts`;
    report.problem(['machines', 'count'], count, `${count} cannot be shared out evenly among ${hosts} hosts`, hint);
  }
  return { accelerator: { type, perHost: Math.max(1, Math.floor(count / hosts)) } };
}

const MOST_MACHINES = 1024;
const MOST_ACCELERATORS = 100_000;

const schema = section({
  accelerator: text()
    .nullish()
    .describe('A type as the pool file has it, such as h100; machines without any if left out.'),
  count: wholeNumber(1, MOST_ACCELERATORS).nullish().describe('Accelerators of all machines of a slice, such as 16.'),
  hosts: wholeNumber(1, MOST_MACHINES).nullish().describe('Machines of a slice; 1 without it.'),
  labels: textMap().nullish().describe('Labels that each machine must have, as the pool file gives them.'),
});

/** The form of `machines` in a job file. */
export const machinesSection = (): typeof schema => schema;

type MachinesForm = z.infer<typeof schema>;

const MOST_SLOTS = 64;
const SLOT = '{slot}';

const machine = section({
  name: text().optional().describe('What people call it; unique in the pool.'),
  address: text().optional().describe('Host name or IP address, and the port of its SSH server if that is not 22.'),
  user: text().optional().describe('Login user; jobctl keeps what it needs below its home.'),
  accelerators: z
    .record(z.string(), wholeNumber(1, MOST_ACCELERATORS), { error: 'a table of numbers by type, such as {h100 = 8}' })
    .optional()
    .describe('What it has: one type, and how many. Left out: none.'),
  maker: oneOf(['nvidia', 'amd', 'tpu'])
    .optional()
    .describe("Whose accelerators they are, if the type's name does not say it."),
  model: text()
    .optional()
    .describe('What nvidia-smi -L should list, such as "RTX 6000 Ada"; a machine that lists another gets a warning.'),
  slots: wholeNumber(2, MOST_SLOTS)
    .optional()
    .describe('Parts that serve one job each, with a login user of their own: user = "train-{slot}". Left out: 1.'),
  share: z
    .boolean({ error: 'true or false' })
    .optional()
    .describe('Jobs of different sizes share its GPUs: a slot, and a login user, for each GPU: user = "train-{slot}".'),
  labels: textMap().optional().describe('What a job file may ask for in machines.labels.'),
  key: text().optional().describe("secret:NAME of the private key that connects; the installation's own without it."),
  host_key: text().optional().describe("Its SSH server's public key; without it the first one that it shows is kept."),
  check: text().optional().describe('A shell script that must end with 0 before each use.'),
});

/** The form of `[[machines]]` in a pool file. A function: docs/adr/0012. */
export const inventoryForm = () => z.array(machine, { error: 'a list of tables: write [[machines]]' });
type InventoryForm = z.infer<ReturnType<typeof inventoryForm>>;

const NAME = /^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/;
const USER = /^[a-z_][a-z0-9_.-]{0,31}$/i;
const SSH_PORT = 22;

/** The machines of a pool, in file order. Reports every problem; the result is used only if there are no problems. */
export function resolveInventory(form: InventoryForm, report: Report): readonly OwnMachine[] {
  const machines = form.map((each, index) => resolveMachine(each, ['machines', index], report));
  refuseTwins(machines, report);
  const slots = machines.map((machine, index) => slotsOf(machine, form[index] ?? {}));
  refuseSlotNames(slots, report);
  return slots.flat();
}

/** The slots of a machine are separate machines that share its address (docs/adr/0153, 0170). */
function slotsOf(machine: OwnMachine, { slots, share }: InventoryForm[number]): readonly OwnMachine[] {
  const of = share ? gpusOf(machine) : (slots ?? 1);
  if (of <= 1) return [machine];
  const shares = Object.entries(machine.accelerators).map(([type, count]) => [type, Math.floor(count / of)] as const);
  const accelerators = Object.fromEntries(shares);
  const [gpus = 0] = Object.values(accelerators);
  return Array.from({ length: of }, (_, number) => ({
    ...{ ...machine, accelerators },
    name: `${machine.name}.${number}`,
    user: machine.user.replace(SLOT, String(number)),
    slot: { number, of, gpus: Array.from({ length: gpus }, (__, gpu) => number * gpus + gpu) },
    ...(share && { isShared: true as const }),
  }));
}

const gpusOf = ({ accelerators = {} }: Pick<InventoryForm[number], 'accelerators'>): number =>
  Object.values(accelerators)[0] ?? 0;

/** Refuses a name that is also a slot's: `box.1` may be a slot of `box`. */
function refuseSlotNames(slots: readonly (readonly OwnMachine[])[], report: Report): void {
  const owners = new Map(
    slots.flatMap((each, index) => each.filter(({ slot }) => slot).map(({ name }) => [name, index])),
  );
  for (const [index, [machine]] of slots.entries()) {
    const owner = owners.get(machine?.name ?? '');
    if (machine !== undefined && owner !== undefined && owner !== index)
      report.problem(['machines', index, 'name'], machine.name, 'is a slot of another machine', 'names are unique');
  }
}

function checkSlots(form: InventoryForm[number], path: Path, report: Report): void {
  const { slots, share, maker, user = '', accelerators = {} } = form;
  if (share && slots !== undefined)
    report.problem([...path, 'slots'], slots, 'with share = true a machine has a slot for each GPU', 'leave slots out');
  if (slots === undefined && !share) {
    if (user.includes(SLOT))
      report.wrong(
        [...path, 'user'],
        user,
        'of a machine with slots',
        'write slots = 4 or share = true too, or a name without {slot}',
      );
    return;
  }
  if (user !== '' && !user.includes(SLOT))
    report.wrong(
      [...path, 'user'],
      user,
      'one login user for several slots',
      `write a user for each: user = "${user}-${SLOT}"`,
    );
  const at = [...path, share ? 'share' : 'slots'];
  const what = share ?? slots;
  for (const [type, count] of Object.entries(accelerators)) {
    if ((maker === undefined ? makerOf(type) : MAKERS[maker]) !== 'NVIDIA') {
      const are = share ? 'GPUs that jobs share are NVIDIA' : 'slots are for NVIDIA GPUs or none';
      report.problem(at, what, `${are}, and ${type} is another maker's`, `leave ${share ? 'share' : 'slots'} out`);
    } else if (slots !== undefined && count % slots !== 0)
      report.problem(
        at,
        what,
        `${count} ${type} cannot be shared out evenly among ${slots} slots`,
        'slots of a machine are alike; with share = true jobs of different sizes share it',
      );
  }
  const gpus = gpusOf(form);
  if (share && (gpus < 2 || gpus > MOST_SLOTS))
    report.problem(
      at,
      what,
      `a machine of 2 to ${MOST_SLOTS} GPUs can be shared, and this one has ${gpus}`,
      'leave share out',
    );
}

function resolveMachine(form: InventoryForm[number], path: Path, report: Report): OwnMachine {
  const { name = '', user = '' } = form;
  requireKeys(form, path, report);
  checkSlots(form, path, report);
  if (name !== '' && !NAME.test(name))
    report.wrong([...path, 'name'], name, 'no name of a machine', 'small letters, digits, dashes and dots; 63 at most');
  if (user !== '' && !USER.test(user.replace(SLOT, '0')))
    report.wrong([...path, 'user'], user, 'no login user', 'letters, digits, dashes, dots and _; 32 at most');
  const { address, port } = addressOf(form.address ?? '', [...path, 'address'], report);
  return {
    ...{ name, address, port, user },
    accelerators: acceleratorsOf(form, path, report),
    ...namedBy(form, path, report),
    labels: labelsOf(form, path, report),
    ...keyOf(form, path, report),
    ...hostKeyOf(form, path, report),
    ...(form.check !== undefined && { check: form.check }),
  };
}

function requireKeys(form: InventoryForm[number], path: Path, report: Report): void {
  const examples = { name: 'rack-1', address: '10.0.0.11', user: 'train' } as const;
  for (const [key, example] of Object.entries(examples)) {
    const at = [...path, key];
    if (form[key as keyof typeof examples] === undefined && !report.wasDropped(at))
      report.missing(at, `each machine needs it, such as ${key} = "${example}"`);
  }
}

/** `10.0.0.11`, `rack-1.lab:2222`, `[fd00::1]:22` */
const ADDRESS = /^(?:\[([0-9a-fA-F:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/;

function addressOf(text: string, path: Path, report: Report): Pick<OwnMachine, 'address' | 'port'> {
  const [, bracketed, plain, port = String(SSH_PORT)] = ADDRESS.exec(text) ?? [];
  const address = bracketed ?? plain ?? '';
  const number = Number(port);
  if (text !== '' && (address === '' || number < 1 || number > 65_535))
    report.wrong(path, text, 'no address', 'a host name or an IP address, with :PORT if SSH is not on 22');
  return { address, port: number };
}

function acceleratorsOf({ accelerators = {} }: InventoryForm[number], path: Path, report: Report) {
  const types = Object.keys(accelerators);
  for (const type of types)
    checkType(type, [...path, 'accelerators', type], { report, without: 'leave accelerators out' });
  if (types.length > 1) {
    const hint = 'a job takes a whole machine: name the type that jobs ask for';
    report.problem([...path, 'accelerators'], types.join(', '), 'a machine has accelerators of one type', hint);
  }
  return accelerators;
}

/** Maker and model of its accelerators, if it has some. */
function namedBy(form: InventoryForm[number], path: Path, report: Report): Pick<OwnMachine, 'maker' | 'model'> {
  const { accelerators = {}, maker, model } = form;
  for (const [key, value] of Object.entries({ maker, model }))
    if (value !== undefined && Object.keys(accelerators).length === 0)
      report.problem([...path, key], value, 'is of accelerators, and this machine has none', `leave ${key} out`);
  return {
    ...(maker !== undefined && { maker: MAKERS[maker] }),
    ...(model !== undefined && { model }),
  };
}

const MAKERS = { nvidia: 'NVIDIA', amd: 'AMD', tpu: 'TPU' } as const;

function keyOf({ key }: InventoryForm[number], path: Path, report: Report): Pick<OwnMachine, 'key'> {
  if (key === undefined) return {};
  const name = secretNamed(key);
  if (name === undefined) {
    const hint = 'write key = "secret:NAME", after: jobctl secret put NAME --from-file FILE';
    report.wrong([...path, 'key'], key, 'no reference to a secret', hint);
  } else if (!SECRET_NAME.test(name)) report.wrong([...path, 'key'], key, 'no reference to a secret', SECRET_NAME_RULE);
  return { key };
}

const HOST_KEY = /^(ssh-ed25519|ecdsa-sha2-[a-z0-9-]+|ssh-rsa) ([A-Za-z0-9+/]+=*)( .*)?$/;

function hostKeyOf({ host_key: line }: InventoryForm[number], path: Path, report: Report): Pick<OwnMachine, 'hostKey'> {
  if (line === undefined) return {};
  const [, type, body] = HOST_KEY.exec(line.trim()) ?? [];
  if (type === undefined || body === undefined) {
    const hint = 'the content of /etc/ssh/ssh_host_ed25519_key.pub on the machine';
    report.wrong([...path, 'host_key'], line, 'no public key', hint);
  }
  return { hostKey: `${type} ${body}` };
}

function refuseTwins(machines: readonly OwnMachine[], report: Report): void {
  const places = new Map<string, string>();
  const names = new Set<string>();
  for (const [index, { name, address, port }] of machines.entries()) {
    const path: Path = ['machines', index];
    if (name !== '' && names.has(name)) report.problem([...path, 'name'], name, 'is given twice', 'names are unique');
    names.add(name);
    const place = placeOf({ address, port });
    const twin = places.get(place);
    if (address !== '' && twin !== undefined)
      report.problem(
        [...path, 'address'],
        place,
        `is the address of ${twin} too`,
        'a machine serves one job at a time',
      );
    places.set(place, name);
  }
}

/** `10.0.0.11:22` */
export const placeOf = ({ address, port }: Pick<OwnMachine, 'address' | 'port'>): string =>
  `${address.toLowerCase()}:${port}`;
