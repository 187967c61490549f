import fc from 'fast-check';

// The same cases each time: a change must not fail for a case that it has nothing to do with.
// `PROPERTY_SEED=random make test` looks for new ones.
if (process.env['PROPERTY_SEED'] !== 'random') fc.configureGlobal({ seed: Number(process.env['PROPERTY_SEED'] ?? 1) });
