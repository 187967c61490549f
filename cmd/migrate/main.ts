import { loadSettings } from '../../pkg/config/index.ts';
import { migrate } from '../../pkg/postgres/index.ts';
import { createLog } from '../../pkg/telemetry/index.ts';

const settings = loadSettings(process.env, ['databaseUrl', 'logLevel']);
const log = createLog('migrate', settings.logLevel);
const { applied } = await migrate(settings.databaseUrl);
log.info({ applied }, applied.length === 0 ? 'The schema is up to date' : 'Brought the schema up');
