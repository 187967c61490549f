import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import express from 'express';
import { openDatabase, query } from '../../pkg/postgres/index.ts';
import { portOf, startListening } from '../../pkg/telemetry/index.ts';

/**
 * What submits are measured against, in a process of its own as the API has one: an Express handler that does the least
 * possible durable work, one transaction with one insert each into a parent and a child table.
 */
const db = openDatabase({ url: process.env['DATABASE_URL'] ?? '', poolSize: 10, applicationName: 'bare' });
await query(db.system, 'CREATE TABLE bare_parents (id text PRIMARY KEY, body jsonb)');
await query(db.system, 'CREATE TABLE bare_children (id text PRIMARY KEY, parent text)');
const app = express();
app.post('/', express.json(), async (request, response) => {
  const id = randomUUID();
  await db.inTransaction(async (sql) => {
    await query(sql, 'INSERT INTO bare_parents VALUES (:id, :body)', { id, body: JSON.stringify(request.body) });
    await query(sql, 'INSERT INTO bare_children VALUES (:child, :id)', { child: `${id}.1`, id });
  });
  response.status(202).json({ id });
});
app.get('/:id', async (request, response) => {
  const rows = await query(db.system, 'SELECT * FROM captures WHERE id = :id', { id: request.params.id });
  response.json(rows[0]);
});
const server = createServer(app);
await startListening(server, '127.0.0.1', 0);
process.send?.({ port: portOf(server) });
