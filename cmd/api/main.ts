import { createServer } from 'node:http';
import { loadPlans } from '../../pkg/accounts/index.ts';
import { openArtifactStore } from '../../pkg/artifacts/index.ts';
import { createKeyring, loadSettings, redact } from '../../pkg/config/index.ts';
import { loadPrices } from '../../pkg/credits/index.ts';
import { answerUnreadRequests, createApp, createRateGate } from '../../pkg/http/index.ts';
import { createLaneBook } from '../../pkg/lanes/index.ts';
import { checkSchema, listen, openDatabase } from '../../pkg/postgres/index.ts';
import { connectForCommands, createAnnouncer } from '../../pkg/queue/index.ts';
import { runProcess, systemClock } from '../../pkg/runtime/index.ts';
import { acceptSearches, createWaiters, gatherSubmits, SEARCH_ENDED } from '../../pkg/searches/index.ts';
import {
  createLog,
  createRegistry,
  drainServer,
  observeRequests,
  portOf,
  serveProbes,
  startListening,
} from '../../pkg/telemetry/index.ts';
import { createWebhookGuard } from '../../pkg/webhooks/index.ts';

const settings = loadSettings(process.env, [
  'databaseUrl',
  'databasePoolSize',
  'redisUrl',
  'host',
  'port',
  'probePort',
  'publicBaseUrl',
  'artifactStore',
  'artifactDir',
  's3Endpoint',
  's3Bucket',
  's3Region',
  's3AccessKeyId',
  's3SecretAccessKey',
  's3ForcePathStyle',
  'plansDir',
  'pricesFile',
  'logLevel',
  'apiKeyPepper',
  'secretsKeyring',
  'webhookExtraDestinations',
  'syncWaitSeconds',
  'shutdownGraceSeconds',
]);
const log = createLog('api', settings.logLevel);

const graceMs = settings.shutdownGraceSeconds * 1_000;

await runProcess({ log, releaseTimeoutMs: graceMs + 5_000 }, async (scope) => {
  log.info(redact(settings), 'Settings');
  const clock = systemClock;
  const plans = await loadPlans(settings.plansDir);
  const priceOf = await loadPrices(settings.pricesFile);

  const db = openDatabase({
    url: settings.databaseUrl,
    poolSize: settings.databasePoolSize,
    applicationName: 'scs-api',
  });
  scope.defer('database', () => db.close());
  await checkSchema(db.system);

  const announcer = createAnnouncer({ url: settings.redisUrl, log });
  scope.defer('queue', () => announcer.close());

  const redis = connectForCommands({ url: settings.redisUrl, log });
  scope.defer('redis', async () => {
    await redis.quit().catch(() => redis.disconnect());
  });

  const artifacts = await openArtifactStore(settings, db.system);
  scope.defer('artifacts', () => artifacts.close());

  const waiters = createWaiters(db);
  const notices = listen({ url: settings.databaseUrl, channels: [SEARCH_ENDED], log }, (_, jobId) =>
    waiters.onEnded(jobId),
  );
  scope.defer('notices', () => notices.close());

  const publicBaseUrl = settings.publicBaseUrl.replace(/\/+$/, '');
  const app = createApp({
    db,
    acceptOne: gatherSubmits((acceptor, searches) => acceptSearches({ db, clock, priceOf }, acceptor, searches)),
    announcer,
    artifacts,
    waiters,
    plans,
    priceOf,
    clock,
    log,
    rateGate: createRateGate({ redis, sql: db.system, clock }),
    laneBook: createLaneBook(db.system, clock, 1_000),
    guard: createWebhookGuard(settings.webhookExtraDestinations),
    keyring: createKeyring(settings.secretsKeyring),
    apiKeyPepper: settings.apiKeyPepper,
    publicBaseUrl,
    syncWaitSeconds: settings.syncWaitSeconds,
  });
  const server = createServer(
    { requestTimeout: 30_000, headersTimeout: 10_000, keepAliveTimeout: 65_000, requireHostHeader: false },
    app,
  );
  answerUnreadRequests(server, { clock, publicBaseUrl });
  const registry = createRegistry();
  observeRequests(server, registry);
  await startListening(server, settings.host, settings.port);
  const probes = await serveProbes({
    host: settings.host,
    port: settings.probePort,
    registry,
    isReady: () => !scope.signal.aborted,
  });
  scope.defer('probes', () => probes.close());
  scope.defer('server', () => drainServer(server, graceMs));
  log.info({ host: settings.host, port: portOf(server), probePort: probes.port }, 'Listening');
});
