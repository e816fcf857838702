import { Refusal, type WorkspaceId } from '@banking/domain';
import { replyWithoutServer } from '../http/testing/reply-without-server.js';
import { statementCsv } from './statement-csv.js';
import {
  DOWNLOADS_MAX,
  DOWNLOADS_PER_WORKSPACE_MAX,
  statementFile,
  statementFileName,
  StatementDownloads,
} from './statement-file.js';
import { statementOf } from './testing/statement-of.js';

describe('the file of a statement', () => {
  it.each([0, 1, 100, 250])('writes a page of %i movements in parts of at most a hundred', async (count) => {
    const statement = statementOf(Array.from({ length: count }, () => ({})));
    const parts: string[] = [];
    for await (const part of statementFile(
      statement,
      () => Promise.reject(new Error('there is one page')),
      statementCsv,
    )) {
      parts.push(part);
    }
    expect(parts.join('')).toBe(statementCsv(statement));
    expect(parts).toHaveLength(Math.max(1, Math.ceil(count / 100)));
  });

  it('cuts an account code that is too long for a file name', () => {
    const statement = statementOf([]);
    const account = { ...statement.edges.account, code: 'A'.repeat(20_000) };

    expect(statementFileName({ ...statement, edges: { account } }, 'csv')).toBe(
      `statement-${'A'.repeat(64)}-2026-11-01-2026-12-01.csv`,
    );
  });

  it.each([
    ['2026-11-01', '2026-12-01', 'statement-NW0000000002-2026-11-01-2026-12-01.csv'],
    [
      '2026-11-01T00:00:00Z',
      '2026-11-01T02:00:00+01:00',
      'statement-NW0000000002-2026-11-01T000000Z-2026-11-01T020000+0100.csv',
    ],
    ['2026-11-01', '\r\n', 'statement-NW0000000002-2026-11-01-__.csv'],
  ])('names the file of the period from %s to %j %s', (from, to, name) => {
    expect(statementFileName({ ...statementOf([]), from, to }, 'csv')).toBe(name);
  });

  it('removes characters from the file name that end a header or a folder', () => {
    const statement = statementOf([]);
    const account = { ...statement.edges.account, code: '../"a\r\nb' };

    expect(statementFileName({ ...statement, edges: { account } }, 'csv')).toBe(
      'statement-..__a__b-2026-11-01-2026-12-01.csv',
    );
  });
});

const workspace = (id: number) => id as WorkspaceId;

function reasonOf(begin: () => void): string | undefined {
  try {
    begin();
    return undefined;
  } catch (error) {
    return error instanceof Refusal ? error.reason : String(error);
  }
}

describe('statements that are downloaded', () => {
  it('are few for a workspace, until a response ends', () => {
    const downloads = new StatementDownloads();
    const begin = (id: number, reply = replyWithoutServer()) => {
      const reason = reasonOf(() => downloads.begin(workspace(id), reply));
      return { reply, reason };
    };

    const open = Array.from({ length: DOWNLOADS_PER_WORKSPACE_MAX }, () => begin(1));

    expect(open.map(({ reason }) => reason)).toEqual(open.map(() => undefined));
    expect(begin(1).reason).toBe('rate_limited');
    expect(begin(2).reason).toBeUndefined();
    open[0]!.reply.raw.emit('close');
    expect(begin(1).reason).toBeUndefined();
    expect(begin(1).reason).toBe('rate_limited');
  });

  it('are bounded in a process', () => {
    const downloads = new StatementDownloads();
    const all = Array.from({ length: DOWNLOADS_MAX }, (_, at) => ({ reply: replyWithoutServer(), id: workspace(at) }));
    for (const { reply, id } of all) downloads.begin(id, reply);

    const oneMore = () => downloads.begin(workspace(DOWNLOADS_MAX), replyWithoutServer());

    expect(reasonOf(oneMore)).toBe('unavailable');
    all[0]!.reply.raw.emit('close');
    expect(reasonOf(oneMore)).toBeUndefined();
  });

  it('are not counted if their client has disconnected', () => {
    const downloads = new StatementDownloads();
    const gone = () => downloads.begin(workspace(1), replyWithoutServer(true));

    for (let calls = 0; calls <= DOWNLOADS_PER_WORKSPACE_MAX; calls += 1) gone();

    expect(reasonOf(() => downloads.begin(workspace(1), replyWithoutServer()))).toBeUndefined();
  });
});
