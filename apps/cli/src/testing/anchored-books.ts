import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Run, World } from './world.js';

/** The demo data with keys, an anchor, and exports from before and after it. Money has arrived after the anchor. */
export interface AnchoredBooks {
  readonly world: World;
  /** A file of the spec. */
  readonly path: (name: string) => string;
  /** Runs a command that must succeed. */
  readonly run: (...args: readonly string[]) => Promise<void>;
  /** Records the audit trails, as the worker does. */
  readonly record: () => Promise<void>;
  /** Proves exports against an anchor. */
  readonly since: (anchor: string, ...files: readonly string[]) => Promise<Run>;
  /** Of workspace 1: the customer account with the most transfers, and one that was funded only. */
  readonly busy: number;
  readonly funded: number;
  readonly close: () => Promise<void>;
}

export async function anchoredBooks(): Promise<AnchoredBooks> {
  const world = new World();
  const folder = mkdtempSync(join(tmpdir(), 'banking-since-'));
  const path = (name: string) => join(folder, name);
  const run = async (...args: readonly string[]) => {
    const { exitCode, stderr } = await world.run(args);
    if (exitCode !== 0) throw new Error(`banking ${args[0]} ended with ${exitCode}: ${stderr}`);
  };
  for (const name of ['anchor', 'other']) {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    writeFileSync(path(`${name}.key`), privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    writeFileSync(path(`${name}.pub`), publicKey.export({ type: 'spki', format: 'pem' }));
  }
  await world.openDemo();
  const [most] = await world.query(
    `select id::int from account where workspace_id = 1 and kind = 'customer' order by version desc limit 1`,
  );
  const [least] = await world.query(
    `select id::int from account where workspace_id = 1 and version = 1 and exists (
       select from transfer where account_id = account.id and type = 'funding') order by id limit 1`,
  );
  const [busy, funded] = [Number(most!['id']), Number(least!['id'])];
  await run('export', '--workspace', '1', '--out', path('before.jsonl'));
  await run('anchor', '--key', path('anchor.key'), '--out', path('anchor.jsonl'));
  await run('fund', String(busy), '100');
  await run('export', '--workspace', '1', '--out', path('books.jsonl'));
  await run('export', '--workspace', '2', '--out', path('books-2.jsonl'));
  return {
    ...{ world, path, run, busy, funded },
    record: async () => {
      await world.query(
        `select set_config('app.workspaces', (select array_agg(id)::text from banking.workspace), false), banking.record_audit(100000)`,
      );
    },
    since: (anchor, ...files) =>
      world.run(['prove', '--since', path(anchor), '--public-key', path('anchor.pub'), ...files.map(path)]),
    close: async () => {
      rmSync(folder, { recursive: true });
      await world.close();
    },
  };
}
