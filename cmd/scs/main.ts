import { parseArgs } from 'node:util';
import { loadSettings } from '../../pkg/config/index.ts';
import { openDatabase } from '../../pkg/postgres/index.ts';
import { COMMANDS, UsageError, type Command } from './commands.ts';

const HELP = `scs: the operator's command line

${COMMANDS.map(({ usage, help }) => `  scs ${usage}\n      ${help}`).join('\n')}

Each takes --json. It reads DATABASE_URL, API_KEY_PEPPER and SECRETS_KEYRING from the environment, or from .local/env
where \`make run\` keeps them.`;

async function main(words: string[]): Promise<number> {
  const command = COMMANDS.find(({ words: own }) => own.every((word, index) => words[index] === word));
  if (command === undefined || words.includes('--help')) {
    console.log(HELP);
    return words.length === 0 || words.includes('--help') ? 0 : 2;
  }
  const settings = loadSettings(process.env, ['databaseUrl', 'apiKeyPepper', 'secretsKeyring', 'plansDir', 'lanesDir']);
  const db = openDatabase({ url: settings.databaseUrl, poolSize: 2, applicationName: 'scs' });
  try {
    const { values, positionals } = parse(command, words.slice(command.words.length));
    const result = await command.run({ db, settings }, values, positionals);
    console.log(values['json'] === true ? JSON.stringify(result.data) : result.text);
    return 0;
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
