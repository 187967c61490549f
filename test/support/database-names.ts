/** Migrated once; every test database is a copy of it. */
export const TEMPLATE_DATABASE = 'template_migrated';

export function withDatabaseName(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}
