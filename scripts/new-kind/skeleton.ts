import { adapterFile, apiFile, auditFile, type KindNames, testFile } from './adapter-skeleton.js';

/** jobctl's half of a new kind of machines: the descriptor. Each `todo` is a fact that only its author knows. */

const wordsFile = ({ name, section, type }: KindNames): string => `import type { Ownership } from '../../slice.js';

/** The \`${section}\` section of a job file after defaults and checks: the machines of one slice. */
export interface ${type}Request {
  readonly type: string;
  /** Machines of one slice, 1 or more. */
  readonly count: number;
  /** In order of preference. */
  readonly zones: readonly string[];
}

/** The section itself, as part of a job's spec. */
export interface ${type}Section {
  readonly ${section}: ${type}Request;
}

export interface ${type}Ref {
  readonly kind: '${name}';
  readonly zone: string;
  /** \`^[a-z][a-z0-9-]*[a-z0-9]$\`, 63 characters at most. */
  readonly name: string;
  /** Never given: each slice is requested alone. */
  readonly slices?: number;
  readonly request?: string;
}

/** The machines of one slice, complete: the same plan always makes the same request. */
export interface ${type}Plan {
  readonly ref: ${type}Ref;
  readonly ownership: Ownership;
  readonly machines: ${type}Request;
  /** OpenSSH line of the key that connects. */
  readonly publicKey: string;
}

/** @throws always: the place of something that only the author of the kind knows */
export function todo(what: string): never {
  throw new Error(\`${name}: still to be filled in: \${what}\`);
}
`;

const sectionFile = ({ section, type, value }: KindNames): string => `import type { z } from 'zod';
import { given, section, text, texts, wholeNumber } from '../../job-file/fields.js';
import type { Report } from '../../job-file/report.js';
import type { RequestContext, ResolvedRequest } from '../kind.js';
import type { ${type}Section } from './words.js';

const MOST_MACHINES = 256;
/** TODO: the provider's form of names of types and zones. */
const NAME = /^[a-z][a-z0-9.-]*$/;

const schema = section({
  type: text().nullish().describe('TODO: the type of one machine, such as ..'),
  count: wholeNumber(1, MOST_MACHINES).nullish().describe('Machines of one slice, one host each; 1 without it.'),
  zones: texts().nullish().describe('In order of preference.'),
});

/** The form of \`${section}\` in a job file. */
export const ${value}Section = (): typeof schema => schema;

/** The section with its defaults, or undefined if the type is not known, which is reported. */
export function resolve${type}(
  form: z.output<typeof schema>,
  _context: RequestContext,
  report: Report,
): ResolvedRequest<${type}Section> | undefined {
  const type = given(form.type);
  if (type === undefined) {
    report.missing(['${section}', 'type'], 'TODO: such as type: ..');
    return undefined;
  }
  if (!NAME.test(type)) {
    report.wrong(['${section}', 'type'], type, 'no type of machine', 'TODO: such as ..');
    return undefined;
  }
  const zones = given(form.zones) ?? [];
  for (const [at, zone] of zones.entries())
    if (!NAME.test(zone)) report.wrong(['${section}', 'zones', at], zone, 'no zone', 'TODO: such as ..');
  const count = given(form.count) ?? 1;
  return {
    request: { ${section}: { type, count, zones } },
    slice: { type, hosts: count },
    leftToPool: [],
  };
}
`;

const indexFile = ({ name, section, type, value }: KindNames): string => `import { z } from 'zod';
import { distributedEnvironment } from '../distributed-environment.js';
import type { MachineKind } from '../kind.js';
import { ownershipForm } from '../kubernetes/forms.js';
import { ownershipOf } from '../kubernetes/plan.js';
import { resolve${type}, ${value}Section } from './section.js';
import { type ${type}Plan, type ${type}Ref, type ${type}Request, type ${type}Section, todo } from './words.js';

const text = z.string();

const refForm: z.ZodType<${type}Ref> = z.object({ kind: z.literal('${name}'), zone: text.min(1), name: text.min(1) });

const planForm: z.ZodType<${type}Plan> = z.object({
  ref: refForm,
  ownership: ownershipForm(),
  machines: z.object({ type: text.min(1), count: z.int().min(1), zones: z.array(text) }),
  publicKey: text,
});

/** TODO: one sentence about the kind, and its page. */
export const ${value}: MachineKind<${type}Ref, ${type}Plan, ${type}Section, ReturnType<typeof ${value}Section>> = {
  provider: '${type}',
  refForm: () => refForm,
  planForm: () => planForm,
  devices: { devices: ['/dev/nvidia[0-9]*'], lockFiles: [] },
  metricsName: '${name}',
  launchWord: undefined,
  isRehearsed: () => false,
  zoneNames: undefined,
  reach: 'ssh',
  areTakenBack: true,
  isBought: true,
  areTakenTogether: false,
  takesPublicKey: true,

  section: {
    name: '${section}',
    least: 'type and zones',
    form: ${value}Section,
    required: ['type'],
    takesAtomic: false,
    allowForm: '${section}',
    flags: {
      tpu: { why: 'TODO', instead: 'TODO' },
      zone: { path: ['zones', 0] },
      pricing: { why: 'TODO', instead: 'TODO' },
      adopt: { why: 'TODO', instead: 'TODO' },
    },
    resolve: resolve${type},
  },

  asked: ({ ${section}: { type, zones } }) => ({ accelerator: type, zones, pricing: 'any' }),
  size: ({ ${section}: { type, count }, slices }) => ({
    units: { [type]: count * slices },
    chips: todo('size: chips and quota units of a type'),
    hosts: count * slices,
  }),
  sizeKey: () => '${section}.type',
  plan: ({ ${section}: machines }, place) => ({
    ref: { kind: '${name}', zone: place.zone, name: place.name },
    ownership: ownershipOf(place, machines),
    machines,
    publicKey: place.publicKey,
  }),
  slices: (ref) => [ref],
  usdPerHour: () => undefined,
  environment: (_, attempt) => distributedEnvironment(attempt, todo('environment: whether hosts have GPUs')),

  choices: () => [
    { key: 'machines', path: ['${section}'], value: '${section}' },
    ...todo('choices: what of a request a pool may forbid (docs/pool-file.md)'),
  ],
  usualChoices: () => ({ machines: ['${section}'] }),
  route: () => todo('route: what makes hosts reachable alike'),
  accountsPrefix: 'system/${name}-accounts/',
  account,
  accountKey: undefined,
  proxyVariables: () => ({}),
  compared: () => undefined,

  accountText: (account) => \`${type} of account \${account}\`,
  resourceText: ({ name }) => \`machines \${name}\`,
  placeText: ({ zone }) => zone,
  requestText: (spec) => machinesText(spec.${section}),
  requestFacts: ({ ${section}: request }) => [['machines', machinesText(request)]],
  planText: ({ machines }) => machinesText(machines),
  planDetails: ({ machines }) => machinesText(machines),
  stateHint: () => todo("stateHint: a command that shows the provider's own state"),
};

function account(_: object, spec: ${type}Section): string;
function account(_: object, spec?: ${type}Section): string | undefined;
/** TODO: the unit by which the provider lists machines. Undefined without a job: nothing is listed. */
function account(_: object, spec?: ${type}Section): string | undefined {
  return spec && todo('account');
}

const machinesText = ({ count, type }: ${type}Request): string => \`\${count} x \${type}\`;
`;

/** All files of a new kind, by their paths. They compile, and the adapter passes the suite of its port over a stub of the provider. */
export const kindFiles = (names: KindNames): Readonly<Record<string, string>> => ({
  [`domain/machine-kinds/${names.name}/words.ts`]: wordsFile(names),
  [`domain/machine-kinds/${names.name}/section.ts`]: sectionFile(names),
  [`domain/machine-kinds/${names.name}/index.ts`]: indexFile(names),
  [`cloud/machines/${names.name}/${names.name}-api.ts`]: apiFile(names),
  [`cloud/machines/${names.name}/${names.name}.ts`]: adapterFile(names),
  [`cloud/machines/${names.name}/audit.ts`]: auditFile(names),
  [`test/cloud/${names.name}-machines.test.ts`]: testFile(names),
});

/** @param name as in `new:kind`: small letters, digits and dashes */
export function kindNames(name: string): KindNames {
  const words = name.split('-');
  const type = words.map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`).join('');
  return { name, section: words.join('_'), type, value: `${type.slice(0, 1).toLowerCase()}${type.slice(1)}` };
}
