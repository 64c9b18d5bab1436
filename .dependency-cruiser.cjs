// The arrows of docs/architecture.md. `npm run check:arrows`; test/architecture plants faults.
// A path below is a regular expression from the root of the repository.

/** For each folder: what it may import, what beside that only by `await import`, and of what it may name types alone. */
const ARROWS = {
  domain: { value: [] },
  quota: { value: ['domain/'] },
  contract: { value: ['domain/', 'quota/'] },
  workflows: { value: ['domain/', 'quota/', 'contract/'] },
  activities: { value: ['domain/', 'quota/', 'contract/', 'cloud/[^/]+/port[.]ts$', 'cloud/abort[.]ts$'] },
  cloud: { value: ['domain/'] },
  worker: { value: ['domain/', 'contract/', 'activities/', 'cloud/'] },
  // The HTTP server: JobClient behind it, and the pool files as a worker reads them.
  server: {
    value: [
      'domain/',
      'quota/',
      'contract/',
      'cloud/',
      'client/',
      'activities/(operator-file|pool-source|quota-source)[.]ts$',
    ],
  },
  client: { value: ['domain/', 'quota/', 'contract/', 'cloud/(store|temporal|codec)/'] },
  cli: {
    value: ['client/', 'domain/', 'quota/', 'contract/', 'cloud/'],
    lazy: ['worker/', 'server/', 'rehearsal/'],
  },
  // A package of its own (docs/adr/0031).
  rehearsal: { value: [] },
  // Runs in browsers: what it knows of the server are the types of its interface (docs/adr/0164).
  ui: { value: [], types: ['contract/'] },
};
/** Floors of the command line, from the lowest: each imports itself and those below it (docs/adr/0136). */
const CLI_FLOORS = ['terminal', 'place', 'job', 'jobs', 'doctor', 'local', 'commands'];
/** Folders of which one inside is judged apart. */
const INSIDE = { rehearsal: '^rehearsal/(?!test/)' };
const OURS = '^(domain|quota|contract|workflows|activities|cloud|worker|server|client|cli|ui|rehearsal(?!/test))/';
/** Helpers of tests that know nothing of the product. */
const TEST_HELPERS = '^test/(until|first-output|built|long/built-by-go)[.]ts$';

const floorRule = (floor, at) => ({
  name: `cli/${floor}: imports only ${CLI_FLOORS.slice(0, at + 1).join(', ')}`,
  severity: 'error',
  from: { path: `^cli/${floor}/` },
  to: { path: '^cli/', pathNot: CLI_FLOORS.slice(0, at + 1).map((below) => `^cli/${below}/`) },
});

function arrowRules(folder, { value, lazy = [], types = [] }) {
  const inside = INSIDE[folder] ?? `^${folder}/`;
  const own = [inside.slice(1), ...value];
  const rule = (name, to) => ({ name, severity: 'error', from: { path: inside }, to });
  const anyOf = (paths) => paths.map((path) => `^${path}`);
  const rules = [
    rule(`${folder}: imports only ${value.join(', ') || 'nothing of ours'}`, {
      path: OURS,
      pathNot: anyOf([...own, ...lazy, ...types]),
    }),
  ];
  if (lazy.length > 0) {
    rules.push(
      rule(`${folder}: loads ${lazy.join(', ')} only when a verb needs it (await import)`, {
        path: anyOf(lazy),
        dynamic: false,
        dependencyTypesNot: ['type-only'],
      }),
    );
  }
  if (types.length > 0) {
    rules.push(
      rule(`${folder}: names only types of ${types.join(', ')}`, {
        path: anyOf(types),
        dependencyTypesNot: ['type-only'],
      }),
    );
  }
  return rules;
}

/** A package that only some folders may import for its values; the others may name its types. */
const onlyIn = (packages, folders, why) => ({
  name: `only ${folders.join(', ')} import ${packages}`,
  comment: why,
  severity: 'error',
  from: { path: OURS, pathNot: folders.map((folder) => `^${folder}/`) },
  to: { path: `(^|/)node_modules/(${packages})(/|$)`, dependencyTypesNot: ['type-only'] },
});

module.exports = {
  forbidden: [
    ...Object.entries(ARROWS).flatMap(([folder, arrows]) => arrowRules(folder, arrows)),
    ...CLI_FLOORS.map(floorRule),
    onlyIn('@google-cloud/storage|google-auth-library|node-ssh', ['cloud'], 'cloud SDKs stay behind the ports'),
    onlyIn('@kubernetes/client-node', ['cloud', 'test'], 'cloud SDKs stay behind the ports'),
    onlyIn('@google-cloud/tpu|google-gax', ['cloud', 'rehearsal'], "the rehearsal reads the API's protos out of them"),
    onlyIn('ssh2', ['cloud', 'rehearsal', 'cli/local/dev'], 'the rehearsal is an SSH server; dev makes a key pair'),
    onlyIn(
      'selfsigned',
      ['rehearsal', 'cli/local/dev'],
      'certificates of the rehearsal, and of a server that asks who calls',
    ),
    onlyIn('@grpc/grpc-js|protobufjs|proto3-json-serializer', ['rehearsal'], 'servers are for the rehearsal'),
    onlyIn('fastify|@fastify/[^/]+', ['rehearsal', 'server'], 'servers'),
    onlyIn('jose|prom-client|fastify-type-provider-zod', ['server'], 'of the HTTP server alone'),
    onlyIn('@temporalio/workflow', ['workflows'], 'it works in the sandbox only'),
    onlyIn('@temporalio/activity', ['activities'], 'it works in an activity only'),
    onlyIn('@temporalio/worker', ['worker'], 'heavy, and nothing else runs workflows'),
    onlyIn('react|react-dom|@tanstack/[^/]+|uplot', ['ui'], 'they work in a browser'),
    onlyIn('commander', ['cli'], 'the library has no command line'),
    {
      name: 'no Node built-in in pure code or in workflows',
      comment:
        'domain, quota, contract and workflows run in the workflow sandbox: no clock, id, file, environment or network',
      severity: 'error',
      from: { path: '^(domain|quota|contract|workflows)/' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'nothing imports test, bench, chaos or scripts',
      severity: 'error',
      from: { pathNot: '^(test|rehearsal/test|bench|chaos|scripts)/' },
      to: { path: '^(test|rehearsal/test|bench|chaos|scripts)/' },
    },
    {
      name: 'the oracle of chaos imports nothing but itself, not even types',
      comment: 'it judges jobctl and the rehearsal, and may share no belief with them (docs/adr/0045)',
      severity: 'error',
      from: { path: '^chaos/oracle/' },
      to: { pathNot: '^chaos/oracle/', dependencyTypesNot: ['core'] },
    },
    {
      name: "the rehearsal's tests know nothing of jobctl",
      comment: 'it is a package of its own: its tests judge it through the wire and its own modules',
      severity: 'error',
      from: { path: '^rehearsal/test/' },
      to: {
        path: '^(domain|quota|contract|workflows|activities|cloud|worker|server|client|cli|bench|chaos|scripts|test)/',
        pathNot: TEST_HELPERS,
      },
    },
    {
      name: 'scripts import nothing of test, bench or chaos',
      severity: 'error',
      from: { path: '^scripts/' },
      to: { path: '^(test|rehearsal/test|bench|chaos)/' },
    },
    { name: 'no cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'every import is found', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: "what a user's computer gets needs only dependencies of jobctl",
      comment: 'of all three packages, as built: test/architecture/tarballs.live.test.ts',
      severity: 'error',
      from: { path: '^(domain|quota|contract|client|cli)/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)(dist|coverage)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
};
