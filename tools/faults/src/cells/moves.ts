import { setTimeout as sleep } from 'node:timers/promises';
import type { BooksProof } from '../banking-command.js';
import type { Cluster } from '../cluster.js';
import type { Violation } from '../check-orders.js';
import type { MovePoint } from './cell-fault-kinds.js';
import type { CellName } from './cell-servers.js';

const POLL_MS = 2;
const POINT_WAIT_MS = 60_000;
/** On a busy machine the workspace may not be closed and switched within the window. Then the command says so, and its cell serves it. */
const ATTEMPTS = 10;

/** A time in which a workspace may be closed to its callers. */
interface MoveTime {
  readonly beganAt: number;
  endedAt: number;
}

/** Moves one workspace with the commands of operators, and kills them. */
export class Moves {
  private readonly times: MoveTime[] = [];

  constructor(
    private readonly cluster: Cluster,
    readonly workspaceId: number,
    /** The cell that serves the workspace. */
    public cell: CellName,
  ) {}

  /** Whether the workspace was being moved at any instant of a request. */
  wasMoving(from: number, to: number): boolean {
    return this.times.some(({ beganAt, endedAt }) => beganAt <= to && from <= endedAt);
  }

  /** Moves the workspace. @param point kills the command there; it is then resumed, or abandoned if that is possible */
  async move(to: CellName, point?: MovePoint, isAbandoned = false): Promise<readonly Violation[]> {
    const time: MoveTime = { beganAt: performance.now(), endedAt: Infinity };
    this.times.push(time);
    try {
      if (point !== undefined) {
        const ended = await this.killAt(to, point);
        if (ended !== undefined && ended.length > 0) return ended;
        if (isAbandoned && point !== 'switched') return await this.run(['--abandon'], this.cell);
      }
      const moved = await this.run(['--to', to], to);
      return moved.length > 0 ? moved : await this.askOldCell(to);
    } finally {
      time.endedAt = performance.now();
    }
  }

  /** Removes the rows that the workspace has left in its former cell. */
  async archive(): Promise<readonly Violation[]> {
    return violationOf('archive', await this.cluster.runCommand(['cell', 'archive', String(this.workspaceId)]));
  }

  private async run(parameters: readonly string[], cell: CellName): Promise<readonly Violation[]> {
    const command = ['cell', 'move', String(this.workspaceId), ...parameters];
    let proof = await this.cluster.runCommand(command);
    for (let attempt = 1; attempt < ATTEMPTS && hasMissedWindow(proof); attempt += 1) {
      proof = await this.cluster.runCommand(command);
    }
    if (proof.exitCode === 0) this.cell = cell;
    return violationOf(`move ${parameters.join(' ')}`, proof);
  }

  /** @returns violations if the command ended before it was killed */
  private async killAt(to: CellName, point: MovePoint): Promise<readonly Violation[] | undefined> {
    const command = this.cluster.startCommand(['cell', 'move', String(this.workspaceId), '--to', to]);
    let isOver = false;
    const done = command.done.finally(() => (isOver = true));
    const database = point === 'closed' ? this.cluster.cells.of(this.cell) : this.cluster.database;
    const client = await database.connect();
    const untilMs = performance.now() + POINT_WAIT_MS;
    try {
      const query =
        point === 'closed'
          ? `select from banking.cell_workspace where workspace_id = $1 and state = 'moving'`
          : `select from banking.workspace_move where workspace_id = $1 and step = '${point}'`;
      while (!isOver && (await client.query(query, [this.workspaceId])).rowCount === 0) {
        if (performance.now() > untilMs) break;
        await sleep(POLL_MS);
      }
    } finally {
      await client.end();
    }
    command.kill();
    const proof = await done;
    if (proof.exitCode === null || hasMissedWindow(proof)) return undefined;
    if (proof.exitCode === 0) this.cell = to;
    return violationOf('move', proof);
  }

  /** The role of the service, asked for the workspace in the cells that do not serve it. */
  private async askOldCell(to: CellName): Promise<readonly Violation[]> {
    const violations: Violation[] = [];
    for (const [cell, database] of this.cluster.cells.all) {
      if (cell === to) continue;
      const client = await database.connect();
      try {
        await client.query('begin; set local role banking_app');
        const scope = `set_config('app.workspaces', banking.require_open_workspaces($1), true)`;
        const { rows } = await client.query<{ rows: string }>(
          `select ${scope}, (select count(*) from banking.account where workspace_id = $2)::text as rows`,
          [`{${this.workspaceId}}`, this.workspaceId],
        );
        violations.push({
          check: 'old-cell',
          detail: `${cell} showed ${rows[0]?.rows} accounts of a workspace of ${to}`,
        });
      } catch (error) {
        const { code, message } = error as { code?: string; message: string };
        if (code !== 'BK017') violations.push({ check: 'old-cell', detail: `${cell} failed with ${code}: ${message}` });
      } finally {
        await client.end();
      }
    }
    return violations;
  }
}

const hasMissedWindow = ({ output }: BooksProof): boolean => output.includes('could not be switched within');

function violationOf(command: string, { exitCode, output }: BooksProof): readonly Violation[] {
  if (exitCode === 0) return [];
  return [{ check: 'moves', detail: `banking cell ${command} ended with ${exitCode}: ${output.slice(-1_000)}` }];
}
