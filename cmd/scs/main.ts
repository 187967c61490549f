import { parseArgs } from 'node:util';
import { loadSettings } from '../../pkg/config/index.ts';
import { openDatabase } from '../../pkg/postgres/index.ts';
import type { Command, Result } from './command.ts';
import { COMMANDS } from './commands.ts';
import { UsageError } from './usage.ts';

const HELP = `scs: the operator's command line

${COMMANDS.map(({ usage, help }) => `  scs ${usage}\n      ${help}`).join('\n')}

Each takes --json. All but \`lane …\` read DATABASE_URL, API_KEY_PEPPER and SECRETS_KEYRING from the environment, or
from .local/env where \`make run\` keeps them.`;

async function main(words: string[]): Promise<number> {
  const command = COMMANDS.find(({ words: own }) => own.every((word, index) => words[index] === word));
  if (command === undefined || words.includes('--help')) {
    console.log(HELP);
    return words.length === 0 || words.includes('--help') ? 0 : 2;
  }
  const { values, positionals } = parse(command, words.slice(command.words.length));
  const result =
    'runAlone' in command
      ? await command.runAlone(values, positionals)
      : await runWithDatabase(command, values, positionals);
  console.log(values['json'] === true ? JSON.stringify(result.data) : result.text);
  return result.exitCode ?? 0;
}

async function runWithDatabase(
  command: Extract<Command, { run: unknown }>,
  values: Parameters<typeof command.run>[1],
  positionals: string[],
): Promise<Result> {
  const settings = loadSettings(process.env, ['databaseUrl', 'apiKeyPepper', 'secretsKeyring', 'plansDir', 'lanesDir']);
  const db = openDatabase({ url: settings.databaseUrl, poolSize: 2, applicationName: 'scs' });
  try {
    return await command.run({ db, settings }, values, positionals);
  } finally {
    await db.close();
  }
}

function parse(command: Command, args: string[]) {
  try {
    return parseArgs({
      args,
      options: { ...command.options, json: { type: 'boolean' } },
      allowPositionals: command.takesId === true,
    });
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}\nUsage: scs ${command.usage}`);
  }
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(
    error instanceof UsageError ? error.message : `scs: ${error instanceof Error ? error.message : String(error)}`,
  );
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
