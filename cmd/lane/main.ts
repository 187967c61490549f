import { openArtifactStore } from '../../pkg/artifacts/index.ts';
import { loadSettings, redact } from '../../pkg/config/index.ts';
import {
  createDrivers,
  createRunner,
  forgetPod,
  loadLanes,
  noteLane,
  publishLanes,
  reportLane,
  reportPod,
  startReporter,
} from '../../pkg/lanes/index.ts';
import { checkSchema, listen, openDatabase } from '../../pkg/postgres/index.ts';
import { subscribe } from '../../pkg/queue/index.ts';
import { runProcess, systemClock } from '../../pkg/runtime/index.ts';
import { SEARCH_CANCELED } from '../../pkg/searches/index.ts';
import { createCaptureMetrics, createLog, createRegistry, serveProbes } from '../../pkg/telemetry/index.ts';

const settings = loadSettings(process.env, [
  'databaseUrl',
  'databasePoolSize',
  'redisUrl',
  'host',
  'probePort',
  'artifactStore',
  'artifactDir',
  's3Endpoint',
  's3Bucket',
  's3Region',
  's3AccessKeyId',
  's3SecretAccessKey',
  's3ForcePathStyle',
  'lanesDir',
  'lanesPublishedBy',
  'podName',
  'podNamespace',
  'logLevel',
  'browserExecutable',
  'secretsDir',
  'leaseSeconds',
  'retryBackoffSeconds',
  'shutdownGraceSeconds',
]);
const log = createLog('lane', settings.logLevel);

const graceMs = settings.shutdownGraceSeconds * 1_000;

await runProcess({ log, releaseTimeoutMs: graceMs + 20_000 }, async (scope) => {
  log.info(redact(settings), 'Settings');
  const clock = systemClock;
  const documents = await loadLanes(settings.lanesDir);
  const lanes = documents.filter(({ spec }) => !spec.suspend);

  const db = openDatabase({
    url: settings.databaseUrl,
    poolSize: settings.databasePoolSize,
    applicationName: 'scs-lane',
  });
  scope.defer('database', () => db.close());
  await checkSchema(db.system);

  const publishes = settings.lanesPublishedBy === 'lane';
  if (publishes) await publishLanes(db.system, documents);

  const artifacts = await openArtifactStore(settings, db.system);
  scope.defer('artifacts', () => artifacts.close());

  const registry = createRegistry();
  const metrics = createCaptureMetrics(registry);
  const drivers = await createDrivers({
    lanes,
    browserExecutable: settings.browserExecutable,
    env: process.env,
    secretsDir: settings.secretsDir,
    onEgressRefused: (surface) => metrics.egressRefused.inc({ surface }),
    clock,
    log,
  });
  scope.defer('drivers', () => drivers.close());

  try {
    await drivers.start();
  } catch (error) {
    // Told before we give up: searches for these surfaces then say so at once instead of waiting for nobody.
    const reason = error instanceof Error ? error.message : String(error);
    for (const { spec } of lanes) {
      if (publishes && spec.driver === 'browser') await reportLane(db.system, spec.surface, reason.slice(0, 500));
    }
    throw error;
  }

  for (const lane of lanes) await noteLane(db.system, lane.spec.surface, drivers.notesOf(lane));

  const working = lanes.map((lane) => {
    const { surface, timeouts, browser } = lane.spec;
    const runner = createRunner(
      { db, driver: drivers.of(lane), artifacts, clock, log, metrics },
      {
        surface,
        captureSeconds: timeouts.captureSeconds,
        queueSeconds: timeouts.queueSeconds,
        leaseSeconds: settings.leaseSeconds,
        retryBackoffSeconds: settings.retryBackoffSeconds,
      },
    );
    const subscription = subscribe(
      { url: settings.redisUrl, surface, concurrency: browser.concurrency, log },
      async (announcement) => {
        await drivers.whenFree(lane, () => runner.take(announcement), scope.signal);
      },
    );
    return { runner, subscription };
  });
  // Taking stops at once, in all lanes; what runs has a while to end, then goes back into the queue.
  scope.defer('captures', () =>
    Promise.all(working.flatMap(({ runner, subscription }) => [subscription.close(), runner.drain(graceMs)])),
  );

  const [first] = lanes;
  if (settings.podName !== '' && first !== undefined) {
    const pod = `${settings.podNamespace}/${settings.podName}`;
    scope.defer('report', () => forgetPod(db.system, pod));
    const reporter = startReporter({
      report: (report) => reportPod(db.system, { pod, surface: first.spec.surface, ...report }),
      running: () => working.reduce((sum, { runner }) => sum + runner.running(), 0),
      pause: async () => {
        await Promise.all(working.map(({ subscription }) => subscription.pause()));
      },
      resume: async () => {
        await Promise.all(working.map(({ subscription }) => subscription.resume()));
      },
      log,
    });
    scope.defer('reporting', () => reporter.stop());
  }

  const notices = listen({ url: settings.databaseUrl, channels: [SEARCH_CANCELED], log }, (_, searchId) => {
    for (const { runner } of working) runner.onCanceled(searchId);
  });
  scope.defer('notices', () => notices.close());

  const probes = await serveProbes({
    host: settings.host,
    port: settings.probePort,
    registry,
    isReady: () => !scope.signal.aborted,
  });
  scope.defer('probes', () => probes.close());
  log.info({ lanes: lanes.map(({ metadata }) => metadata.name), probePort: probes.port }, 'Taking captures');
});
