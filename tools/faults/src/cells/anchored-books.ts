import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Violation } from '../check-orders.js';
import type { Cluster } from '../cluster.js';

/** An anchor of all books, and the proof at the end of a run that they continue it, wherever the workspaces are then. */
export class AnchoredBooks {
  private constructor(
    private readonly cluster: Cluster,
    private readonly anchor: string,
    private readonly publicKey: string,
  ) {}

  /** Anchors what is there. */
  static async take(cluster: Cluster): Promise<AnchoredBooks> {
    const file = (name: string) => join(cluster.folder, name);
    const [key, publicKey, anchor] = [file('anchor.key'), file('anchor.pub'), file('anchor.jsonl')];
    await openssl('genpkey', '-algorithm', 'ed25519', '-out', key);
    await openssl('pkey', '-in', key, '-pubout', '-out', publicKey);
    const { exitCode, output } = await cluster.runCommand(['anchor', '--key', key, '--out', anchor]);
    if (exitCode !== 0) throw new Error(`banking anchor failed: ${output.slice(-1_000)}`);
    return new AnchoredBooks(cluster, anchor, publicKey);
  }

  /** Compares the databases with the anchor, then the exports of the books and of the audit trails of these workspaces. */
  async prove(workspaceIds: readonly number[]): Promise<readonly Violation[]> {
    const since = ['--since', this.anchor, '--public-key', this.publicKey];
    const files: string[] = [];
    const violations = await this.run(['verify', ...since]);
    for (const id of workspaceIds) {
      for (const [name, ...command] of [['books', 'export'] as const, ['audit', 'audit', 'export'] as const]) {
        const file = join(this.cluster.folder, `${name}-${id}.jsonl`);
        files.push(file);
        violations.push(...(await this.run([...command, '--workspace', String(id), '--out', file])));
      }
    }
    return [...violations, ...(await this.run(['prove', ...since, ...files]))];
  }

  private async run(parameters: readonly string[]): Promise<Violation[]> {
    const { exitCode, output } = await this.cluster.runCommand(parameters);
    const detail = `banking ${parameters[0]} ended with ${exitCode}: ${output.slice(-2_000)}`;
    return exitCode === 0 ? [] : [{ check: 'books', detail }];
  }
}

const openssl = (...parameters: readonly string[]) => promisify(execFile)('openssl', parameters);
