import { parseArgs } from 'node:util';
import { loadSettings } from '../../pkg/config/index.ts';
import { openDefinitions } from '../../pkg/operator/index.ts';
import { createLog } from '../../pkg/telemetry/index.ts';

const USAGE = 'usage: crds apply [--dir crds] | crds release [--namespace N] | crds remove';
/** The chart's Job is given longer, and a controller that works needs seconds. */
const PATIENCE_MS = 90_000;

const { values, positionals } = parseArgs({
  options: { dir: { type: 'string', default: 'crds' }, namespace: { type: 'string' } },
  allowPositionals: true,
});
const log = createLog('crds', loadSettings(process.env, ['logLevel']).logLevel);
const definitions = openDefinitions(log);
try {
  switch (positionals[0]) {
    case 'apply':
      await definitions.apply(values.dir);
      break;
    case 'release':
      await definitions.release(values.namespace, PATIENCE_MS);
      break;
    case 'remove':
      await definitions.remove();
      break;
    default:
      throw new Error(USAGE);
  }
} finally {
  await definitions.close();
}
