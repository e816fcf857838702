import { RemoteBankingService } from '@banking/client';
import type { TransferId, UserId, WorkspaceId } from '@banking/domain';
import { scriptedUpstream } from './testing/scripted-upstream.js';
import { type TraceContextSource, UpstreamConnection } from './upstream-connection.js';

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00';
const scope = { workspaceId: 1 as WorkspaceId, actor: 1 as UserId, requestId: 'job-17' };

describe('the requests of a gateway to its upstream', () => {
  let upstream: Awaited<ReturnType<typeof scriptedUpstream>>;
  beforeAll(async () => {
    upstream = await scriptedUpstream();
    upstream.says('GET /transfers/42', { status: 200, body: { id: 42, amount: '5', edges: {} } });
  });
  afterAll(() => upstream.close());

  async function headersWith(traceContext?: TraceContextSource) {
    const log = { error: () => undefined, info: () => undefined };
    const connection = new UpstreamConnection(5_000, log, traceContext);
    const client = new RemoteBankingService({ baseUrl: upstream.url, token: 'ours', fetch: connection.transport });
    await client.getTransfer(scope, { transferId: 42 as TransferId });
    await connection.close();
    return upstream.received.at(-1)?.headers;
  }

  it('carry the trace context of the request that they are for', async () => {
    const asked: (string | undefined)[] = [];
    const source: TraceContextSource = (requestId) => {
      asked.push(requestId);
      return { traceparent: TRACEPARENT, tracestate: 'a=1' };
    };

    expect(await headersWith(source)).toMatchObject({ traceparent: TRACEPARENT, tracestate: 'a=1' });
    expect(asked).toEqual(['job-17']);
  });

  it('carry none without traces', async () => {
    const headers = await headersWith();

    expect([headers?.['traceparent'], headers?.['tracestate']]).toEqual([undefined, undefined]);
  });
});
