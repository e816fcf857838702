import { Refusal, type WorkspaceId } from '@banking/domain';
import { replyWithoutServer } from '../http/testing/reply-without-server.js';
import { TableDownloads, TABLES_MAX, TABLES_PER_WORKSPACE_MAX } from './table-downloads.js';

const workspace = (id: number) => id as WorkspaceId;

function reasonOf(begin: () => void): string | undefined {
  try {
    begin();
    return undefined;
  } catch (error) {
    return error instanceof Refusal ? error.reason : String(error);
  }
}

describe('tables that are downloaded', () => {
  it('are few for a workspace, until a response ends', () => {
    const downloads = new TableDownloads();
    const begin = (id: number, reply = replyWithoutServer()) => {
      const reason = reasonOf(() => downloads.begin(workspace(id), reply));
      return { reply, reason };
    };

    const open = Array.from({ length: TABLES_PER_WORKSPACE_MAX }, () => begin(1));

    expect(open.map(({ reason }) => reason)).toEqual(open.map(() => undefined));
    expect(begin(1).reason).toBe('rate_limited');
    expect(begin(2).reason).toBeUndefined();
    open[0]!.reply.raw.emit('close');
    expect(begin(1).reason).toBeUndefined();
    expect(begin(1).reason).toBe('rate_limited');
  });

  it('are bounded in a process', () => {
    const downloads = new TableDownloads();
    const all = Array.from({ length: TABLES_MAX }, (_, at) => ({ reply: replyWithoutServer(), id: workspace(at) }));
    for (const { reply, id } of all) downloads.begin(id, reply);

    const oneMore = () => downloads.begin(workspace(TABLES_MAX), replyWithoutServer());

    expect(reasonOf(oneMore)).toBe('unavailable');
    all[0]!.reply.raw.emit('close');
    expect(reasonOf(oneMore)).toBeUndefined();
  });

  it('are not counted if their client has disconnected', () => {
    const downloads = new TableDownloads();
    const gone = () => downloads.begin(workspace(1), replyWithoutServer(true));

    for (let calls = 0; calls <= TABLES_PER_WORKSPACE_MAX; calls += 1) gone();

    expect(reasonOf(() => downloads.begin(workspace(1), replyWithoutServer()))).toBeUndefined();
  });
});
