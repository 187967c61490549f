// Fails when two packages export the same name for two things: a reader, and an editor that completes imports, would
// take one for the other.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const entries = readdirSync('pkg')
  .map((name) => join('pkg', name, 'index.ts'))
  .filter((path) => existsSync(path));
const { config } = ts.readConfigFile('tsconfig.json', (path) => ts.sys.readFile(path));
const { options } = ts.parseJsonConfigFileContent(config, ts.sys, '.');
const program = ts.createProgram(entries, options);
const checker = program.getTypeChecker();

const owners = new Map();
for (const entry of entries) {
  const source = program.getSourceFile(entry);
  const module = source && checker.getSymbolAtLocation(source);
  if (!module) continue;
  for (const exported of checker.getExportsOfModule(module)) {
    const thing = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
    const seen = owners.get(exported.name) ?? [];
    owners.set(exported.name, [...seen, { entry, thing }]);
  }
}

let duplicates = 0;
for (const [name, uses] of owners) {
  if (new Set(uses.map(({ thing }) => thing)).size < 2) continue;
  duplicates += 1;
  console.error(`${name} means different things in ${uses.map(({ entry }) => entry).join(' and ')}`);
}
console.log(`${owners.size} exported names in ${entries.length} packages, ${duplicates} of them ambiguous`);
process.exitCode = duplicates > 0 ? 1 : 0;
