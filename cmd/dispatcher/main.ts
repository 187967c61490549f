import { randomUUID } from 'node:crypto';
import { loadPlans } from '../../pkg/accounts/index.ts';
import { createKeyring, loadSettings, redact } from '../../pkg/config/index.ts';
import { loadPrices } from '../../pkg/credits/index.ts';
import { createLaneBook } from '../../pkg/lanes/index.ts';
import { checkSchema, openDatabase } from '../../pkg/postgres/index.ts';
import { createAnnouncer } from '../../pkg/queue/index.ts';
import { runProcess, startLoop, systemClock, type Loop } from '../../pkg/runtime/index.ts';
import { announceDue, expireDue, forgetKeys, rescueLost } from '../../pkg/searches/index.ts';
import { createDispatchMetrics, createLog, createRegistry, serveProbes } from '../../pkg/telemetry/index.ts';
import { dispatchDue } from '../../pkg/watches/index.ts';
import { createDeliveryWorker, createWebhookGuard, forgetDeliveries } from '../../pkg/webhooks/index.ts';

const settings = loadSettings(process.env, [
  'databaseUrl',
  'databasePoolSize',
  'redisUrl',
  'host',
  'probePort',
  'plansDir',
  'pricesFile',
  'logLevel',
  'secretsKeyring',
  'webhookExtraDestinations',
  'webhookRetentionDays',
  'watchSpreadSeconds',
  'announceAgainSeconds',
]);
const log = createLog('dispatcher', settings.logLevel);

/** A rescued capture may wait as long again as a fresh one (design, "Job states"). */
const RESCUED_QUEUE_SECONDS = 900;

await runProcess({ log, releaseTimeoutMs: 20_000 }, async (scope) => {
  log.info(redact(settings), 'Settings');
  const clock = systemClock;
  const plans = await loadPlans(settings.plansDir);
  const priceOf = await loadPrices(settings.pricesFile);
  const keyring = createKeyring(settings.secretsKeyring);

  const db = openDatabase({
    url: settings.databaseUrl,
    poolSize: settings.databasePoolSize,
    applicationName: 'scs-dispatcher',
  });
  scope.defer('database', () => db.close());
  await checkSchema(db.system);

  const announcer = createAnnouncer({ url: settings.redisUrl, log });
  scope.defer('queue', () => announcer.close());

  const registry = createRegistry();
  const metrics = createDispatchMetrics(registry);
  const deliveries = createDeliveryWorker({
    sql: db.system,
    holder: randomUUID(),
    keyring,
    guard: createWebhookGuard(settings.webhookExtraDestinations),
    clock,
    random: Math.random,
    log,
    onAttempt: metrics.attemptEnded,
  });
  scope.defer('deliveries', () => deliveries.close());

  const repeat = (name: string, idleMs: number, turn: () => Promise<'more' | 'idle'>): Loop => {
    const loop = startLoop({ name, idleMs, turnTimeoutMs: 60_000, log }, turn);
    scope.defer(name, () => loop.stop());
    return loop;
  };
  const untilNone = async (work: Promise<number>): Promise<'more' | 'idle'> => ((await work) > 0 ? 'more' : 'idle');

  const announcing = repeat('announcing', 1_000, () =>
    untilNone(announceDue({ db, announcer }, settings.announceAgainSeconds)),
  );
  repeat('expiring', 1_000, () => untilNone(expireDue({ db, clock })));
  repeat('rescuing', 1_000, () => untilNone(rescueLost({ db, clock }, RESCUED_QUEUE_SECONDS)));
  const laneBook = createLaneBook(db.system, clock, 1_000);
  const watching = {
    ...{ db, clock, plans, priceOf, keyring, log },
    lanes: () => laneBook.read(),
    spreadSeconds: settings.watchSpreadSeconds,
    onRun: metrics.runEnded,
  };
  repeat('watching', 500, async () => {
    const dispatched = await dispatchDue(watching);
    if (dispatched > 0) announcing.wake();
    return dispatched > 0 ? 'more' : 'idle';
  });
  repeat('delivering', 500, () => deliveries.deliverDue());
  const retention = { days: settings.webhookRetentionDays };
  repeat('forgetting deliveries', 60_000, () => untilNone(forgetDeliveries(db, retention)));
  repeat('forgetting keys', 600_000, () => untilNone(forgetKeys(db)));

  const probes = await serveProbes({
    host: settings.host,
    port: settings.probePort,
    registry,
    isReady: () => !scope.signal.aborted,
  });
  scope.defer('probes', () => probes.close());
  log.info({ probePort: probes.port }, 'Dispatching');
});
