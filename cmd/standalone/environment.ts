import { delimiter, dirname, join } from 'node:path';
import type { Variables } from './env-file.ts';
import type { Places } from './places.ts';
import type { Secrets } from './secrets.ts';

export type Parts = {
  places: Places;
  secrets: Secrets;
  databaseUrl: string;
  redisUrl: string;
  host: string;
  port: number;
  baseUrl: string;
  browser: string;
};

/**
 * The settings by which our processes find each other. What the user has set for the folders wins, so that other
 * lanes, plans or prices can be tried.
 */
export function serviceVariables(parts: Parts, given: NodeJS.ProcessEnv): Variables {
  const { places, secrets } = parts;
  return {
    DATABASE_URL: parts.databaseUrl,
    REDIS_URL: parts.redisUrl,
    HOST: parts.host,
    PORT: String(parts.port),
    PUBLIC_BASE_URL: given['PUBLIC_BASE_URL'] ?? parts.baseUrl,
    ARTIFACT_STORE: 'folder',
    ARTIFACT_DIR: given['ARTIFACT_DIR'] ?? places.artifacts,
    LANES_DIR: lanesDirOf(places, given),
    PLANS_DIR: given['PLANS_DIR'] ?? join(places.root, 'config', 'plans'),
    PRICES_FILE: given['PRICES_FILE'] ?? join(places.root, 'config', 'prices.yaml'),
    API_KEY_PEPPER: secrets.apiKeyPepper,
    SECRETS_KEYRING: secrets.secretsKeyring,
    BROWSER_EXECUTABLE: given['BROWSER_EXECUTABLE'] ?? unlessOnPath(parts.browser, given['PATH'] ?? ''),
  };
}

/** The folder of the manifests: lanes, and watches beside them. */
export function lanesDirOf(places: Places, given: NodeJS.ProcessEnv): string {
  return given['LANES_DIR'] ?? join(places.root, 'config', 'lanes');
}

/** A browser on PATH is left to each lane to find, as a lane may ask for the other kind. */
function unlessOnPath(program: string, path: string): string {
  return path.split(delimiter).includes(dirname(program)) ? '' : program;
}

/** What `npx scs` needs, and what the next start must know again. */
export function savedVariables(
  services: Variables,
  secrets: Secrets,
  demo: { accountId?: string; key?: string },
): Variables {
  return {
    ...services,
    POSTGRES_PASSWORD: secrets.postgresPassword,
    ...(demo.accountId === undefined ? {} : { DEMO_ACCOUNT_ID: demo.accountId }),
    ...(demo.key === undefined ? {} : { DEMO_API_KEY: demo.key }),
  };
}
