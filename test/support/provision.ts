import { ensureChromium, ensureRedis } from '../../cmd/standalone/servers/programs.ts';
import { ensureTool } from './chart-tools.ts';
import { ensurePython } from './python.ts';

// The programs that tests need and npm can't bring. Before the tests, so that no test's deadline runs meanwhile.
const machine = {
  path: process.env['PATH'] ?? '',
  isRoot: process.getuid?.() === 0,
  say: (line: string) => void process.stdout.write(`${line}\n`),
};
try {
  await ensureRedis(machine);
  await ensurePython(machine);
  await ensureChromium(machine, process.env['BROWSER_EXECUTABLE'] ?? '');
  await ensureTool('helm', machine.say);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
