import fastify from 'fastify';
import type { TransferId, UserId, WorkspaceId } from '@banking/domain';
import { LedgerBankingService } from '@banking/operations';
import { openDeployment } from '@banking/deployment';
import { bind, sqlStatement, type BoundStatement, type Database, type SqlStatement } from '@banking/postgres';
import type { ControlOptions } from './control.js';

/** The statement the service sends for GET /transfers/{transferId}, taken from the service's own code. */
async function transferStatement(): Promise<SqlStatement<{ transfer: string }>> {
  const sent: BoundStatement<unknown>[] = [];
  const recording = {
    read: (_scope: unknown, bound: BoundStatement<unknown>) => sent.push(bound),
  } as unknown as Database;
  await new LedgerBankingService(recording).getTransfer(
    { actor: 1 as UserId, workspaceId: 1 as WorkspaceId },
    { transferId: 1 as TransferId },
  );
  const text = sent[0]?.statement.text;
  if (text === undefined) throw new Error('the service sent no statement');
  // As text, so that the JSON is neither parsed nor serialised here.
  return sqlStatement('control_transfer', `select resource::text as transfer from (${text}) as answer`);
}

async function main({ dataDir, answers, transferHeaders }: ControlOptions): Promise<void> {
  const { database, close } = await openDeployment({ dataDir, isSandbox: true, prepare: false });
  const getTransfer = await transferStatement();
  const server = fastify();
  server.get<{ Params: { id: string } }>('/transfers/:id', async ({ params }, reply) => {
    const row = await database.read({ workspaces: [1] }, bind(getTransfer, 1, params.id));
    return reply.headers(transferHeaders).send(row?.transfer);
  });
  for (const [path, { headers, body }] of Object.entries(answers)) {
    const bytes = Buffer.from(body);
    server.get(path, (_request, reply) => reply.headers(headers).send(bytes));
  }
  process.once('SIGTERM', () => {
    void server
      .close()
      .then(close)
      .then(() => process.exit(0));
  });
  process.send?.(await server.listen({ host: '127.0.0.1', port: 0 }));
}

void main(JSON.parse(process.argv[2] ?? '') as ControlOptions);
