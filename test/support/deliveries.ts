import { query, type Sql } from '../../pkg/postgres/index.ts';

/** Ends a delivery that waits as if its attempts had come to this `days` ago. */
export async function endDelivery(
  sql: Sql,
  id: string,
  { state, days = 0 }: { state: 'delivered' | 'dead' | 'gone'; days?: number },
): Promise<void> {
  await query(
    sql,
    `WITH gone AS (DELETE FROM webhook_queue WHERE delivery_id = :id RETURNING *)
     INSERT INTO webhook_ends (delivery_id, account_id, state, attempts, started_at, ended_at, created_at)
     SELECT delivery_id, account_id, :state, 1, started_at, now() - make_interval(days => :days), created_at FROM gone`,
    { id, state, days },
  );
}
