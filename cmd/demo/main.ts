import { loadSettings, redact } from '../../pkg/config/index.ts';
import { createDemoServer } from '../../pkg/demo/index.ts';
import { runProcess } from '../../pkg/runtime/index.ts';
import { createLog } from '../../pkg/telemetry/index.ts';

// The simulated answer engines alone, for a cluster to capture before it has lanes of its own.
const settings = loadSettings(process.env, ['host', 'port', 'logLevel']);
const log = createLog('demo', settings.logLevel);

await runProcess({ log, releaseTimeoutMs: 5_000 }, async (scope) => {
  log.info(redact(settings), 'Settings');
  const demo = await createDemoServer({ host: settings.host, port: settings.port });
  scope.defer('demo', () => demo.close());
  log.info({ url: demo.url }, 'Simulating answer engines');
});
