export { openDatabase, query, type Binding, type Database, type Reader, type Sql } from './database.ts';
export { listen, type Listener } from './listen.ts';
export { checkSchema, migrate } from './migrate.ts';
