import { hostname } from 'node:os';
import { randomUUID } from 'node:crypto';
import { loadPlans } from '../../pkg/accounts/index.ts';
import { loadSettings, redact } from '../../pkg/config/index.ts';
import { loadPodSettings, startOperator } from '../../pkg/operator/index.ts';
import { checkSchema, openDatabase } from '../../pkg/postgres/index.ts';
import { runProcess, systemClock } from '../../pkg/runtime/index.ts';
import { createLog, createRegistry, serveProbes } from '../../pkg/telemetry/index.ts';
import { createWebhookGuard } from '../../pkg/webhooks/index.ts';

const settings = loadSettings(process.env, [
  'databaseUrl',
  'databasePoolSize',
  'host',
  'probePort',
  'plansDir',
  'logLevel',
  'apiKeyPepper',
  'webhookExtraDestinations',
  'announceAgainSeconds',
  'lanePodsFile',
  'watchNamespace',
  'leaseName',
  'podName',
  'podNamespace',
]);
const log = createLog('controller', settings.logLevel);

await runProcess({ log, releaseTimeoutMs: 20_000 }, async (scope) => {
  log.info(redact(settings), 'Settings');
  const db = openDatabase({
    url: settings.databaseUrl,
    poolSize: settings.databasePoolSize,
    applicationName: 'scs-controller',
  });
  scope.defer('database', () => db.close());
  await checkSchema(db.system);

  const registry = createRegistry();
  const instance = settings.podName === '' ? hostname() : settings.podName;
  const operator = startOperator({
    kubeConfigPath: undefined,
    namespace: settings.watchNamespace === '' ? undefined : settings.watchNamespace,
    lease: { name: settings.leaseName, namespace: settings.podNamespace },
    instance,
    identity: `${instance}_${randomUUID()}`,
    db,
    guard: createWebhookGuard(settings.webhookExtraDestinations),
    plans: await loadPlans(settings.plansDir),
    pepper: settings.apiKeyPepper,
    podSettings: await loadPodSettings(settings.lanePodsFile),
    soonSeconds: Math.max(60, settings.announceAgainSeconds),
    clock: systemClock,
    log,
    registry,
    // What the caches hold is of a past term: the next one starts with new ones.
    onLost: () => scope.fail(new Error('the lease was lost to another controller')),
  });
  scope.defer('operator', () => operator.stop());

  const probes = await serveProbes({
    host: settings.host,
    port: settings.probePort,
    registry,
    isReady: () => !scope.signal.aborted && operator.isSynced(),
  });
  scope.defer('probes', () => probes.close());
  log.info({ probePort: probes.port, instance }, 'Standing for leadership');
});
