// The arrows of docs/architecture.md (DESIGN.md section 1). `npm run check:arrows`; test/architecture plants faults.
// A path below is a regular expression from the root of the repository.

/** For each folder: what it may import for its values, and what for its types alone beside that. */
const ARROWS = {
  domain: { value: [] },
  quota: { value: ['domain/'] },
  workflows: { value: ['domain/', 'quota/'], type: ['activities/'] },
  activities: { value: ['domain/', 'quota/', 'workflows/messages[.]ts$', 'cloud/[^/]+/port[.]ts$'] },
  cloud: { value: ['domain/'] },
  worker: { value: ['domain/', 'activities/', 'cloud/'] },
  client: {
    value: ['domain/', 'quota/', 'workflows/messages[.]ts$', 'cloud/(store|temporal|codec)/'],
    type: ['workflows/'],
  },
  'client/cli': {
    value: ['client/', 'domain/', 'quota/', 'workflows/messages[.]ts$', 'cloud/'],
    type: ['workflows/'],
    lazy: ['worker/', 'rehearsal/'],
  },
  rehearsal: { value: ['domain/accelerators[.]ts$', 'domain/nearest-word[.]ts$'] },
};
const OURS = '^(domain|quota|workflows|activities|cloud|worker|client|rehearsal)/';

function arrowRules(folder, { value, type = [], lazy = [] }) {
  const inside = folder === 'client' ? '^client/(?!cli/)' : `^${folder}/`;
  const own = [inside.slice(1), ...value];
  const rule = (name, to) => ({ name, severity: 'error', from: { path: inside }, to });
  const anyOf = (paths) => paths.map((path) => `^${path}`);
  const rules = [
    rule(`${folder}: imports only ${value.join(', ') || 'nothing of ours'}`, {
      path: OURS,
      pathNot: anyOf([...own, ...type, ...lazy]),
    }),
  ];
  if (type.length > 0) {
    rules.push(
      rule(`${folder}: imports types alone from ${type.join(', ')}`, {
        path: anyOf(type),
        pathNot: anyOf(own),
        dependencyTypesNot: ['type-only'],
      }),
    );
  }
  if (lazy.length > 0) {
    rules.push(
      rule(`${folder}: loads ${lazy.join(', ')} only when a verb needs it (await import)`, {
        path: anyOf(lazy),
        dynamic: false,
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
    onlyIn('@google-cloud/storage|google-auth-library|node-ssh', ['cloud'], 'cloud SDKs stay behind the ports'),
    onlyIn('@google-cloud/tpu|google-gax', ['cloud', 'rehearsal'], "the rehearsal reads the API's protos out of them"),
    onlyIn('ssh2', ['cloud', 'rehearsal', 'client/cli/dev'], 'the rehearsal is an SSH server; dev makes a key pair'),
    onlyIn('selfsigned', ['rehearsal'], 'certificates of the rehearsal'),
    onlyIn('@grpc/grpc-js|fastify|protobufjs|proto3-json-serializer', ['rehearsal'], 'servers are for the rehearsal'),
    onlyIn('@temporalio/workflow', ['workflows'], 'it works in the sandbox only'),
    onlyIn('@temporalio/activity', ['activities'], 'it works in an activity only'),
    onlyIn('@temporalio/worker', ['worker'], 'heavy, and nothing else runs workflows'),
    onlyIn('commander', ['client/cli'], 'the library has no command line'),
    {
      name: 'no Node built-in in pure code or in workflows',
      comment: 'domain, quota and workflows run in the workflow sandbox: no clock, id, file, environment or network',
      severity: 'error',
      from: { path: '^(domain|quota|workflows)/' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'nothing imports test, bench or scripts',
      severity: 'error',
      from: { pathNot: '^(test|bench|scripts)/' },
      to: { path: '^(test|bench|scripts)/' },
    },
    {
      name: 'scripts import nothing of test or bench',
      severity: 'error',
      from: { path: '^scripts/' },
      to: { path: '^(test|bench)/' },
    },
    { name: 'no cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'every import is found', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'what is shipped needs only dependencies',
      severity: 'error',
      from: { path: OURS },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|coverage)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
};
