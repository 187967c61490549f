import { startTestServers } from './servers.ts';

/** Runs once before the tests of a project that needs servers. They are found through the environment. */
export default async function startServers(): Promise<void> {
  const servers = await startTestServers();
  process.env['TEST_DATABASE_URL'] = servers.postgres.url;
  process.env['TEST_REDIS_URL'] = servers.redis.url;
  process.env['TEST_REDIS_PROGRAM'] = servers.redisProgram;
}
