import type { Settings } from '../../pkg/config/index.ts';
import type { Database } from '../../pkg/postgres/index.ts';

export type Context = {
  db: Database;
  settings: Settings<'databaseUrl' | 'apiKeyPepper' | 'secretsKeyring' | 'plansDir' | 'lanesDir'>;
};
export type Values = Record<string, string | boolean | undefined>;
export type Result = { data: unknown; text: string; /** Default 0. */ exitCode?: number };

export type Command = {
  words: string[];
  usage: string;
  help: string;
  options: Record<string, { type: 'string' | 'boolean' }>;
  /** Takes one word that is no option. */
  takesId?: boolean;
} & (
  | { run(context: Context, values: Values, positionals: string[]): Promise<Result> }
  /** Needs neither database nor settings. */
  | { runAlone(values: Values, positionals: string[]): Promise<Result> }
);
