import fc from 'fast-check';

/**
 * For `npm run test:mutants`: properties that choose no seed draw the same cases on each mutant. A case that fails is not made
 * smaller: nobody reads it.
 */
fc.configureGlobal({ seed: Number(process.env['JOBCTL_PROPERTY_SEED'] ?? 1), endOnFailure: true });
