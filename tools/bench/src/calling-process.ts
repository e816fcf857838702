import { BankingClient } from '@banking/client';
import type { CallerOptions } from './client.js';

/** Makes the given number of calls, all with one signal that is never aborted, as in a long-running service. */
function main({ url, token, workspaceId, ids, together }: CallerOptions): void {
  const client = new BankingClient({ baseUrl: url, token });
  const { signal } = new AbortController();

  const call = async (times: number) => {
    let left = times;
    const callAgain = async () => {
      while (left > 0) {
        const id = ids[left % ids.length] as number;
        left -= 1;
        await client.workspace(workspaceId).transfers.get(id, { signal });
      }
    };
    await Promise.all(Array.from({ length: together }, callAgain));
  };

  process.on('message', (times) => {
    if (typeof times === 'number') void call(times).then(() => process.send?.('called'));
  });
  process.channel?.ref();
}

main(JSON.parse(process.env['CALLER'] ?? '') as CallerOptions);
