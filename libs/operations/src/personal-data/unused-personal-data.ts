import { bind, type Database, isServedElsewhere, sqlStatement } from '@banking/postgres';
import { BEGINNING, type PersonalDataPosition, positionOf } from './position.js';

/** How long personal data are kept, in days. */
export interface PersonalDataRetention {
  /** After a payment, those of its recipient or payer, whatever else is set. By law; at least a year outside a sandbox. */
  readonly paymentsKeptDays: number;
  /** Recipients after they were archived or last used, and ended requests to add recipients and members. */
  readonly recipientsKeptDays: number;
  /** Payers of deposits after these ended, and the texts of other entries of bank accounts. */
  readonly payersKeptDays: number;
}

/** Ten years: the longest usual retention of payment records. */
const PERSONAL_DATA_RETENTION: PersonalDataRetention = {
  paymentsKeptDays: 3_650,
  recipientsKeptDays: 3_650,
  payersKeptDays: 3_650,
};

/** How many rows one database transaction reads, and payments of one recipient it erases; and how many after it has failed. */
const ROWS_MAX = [200, 10] as const;

/** How many workspaces are looked up at once. */
const WORKSPACES = 50;

const NEXT_WORKSPACES = sqlStatement<{ id: bigint }>(
  'workspaces_with_personal_data',
  'select w.id from workspace w where w.id > $1 and is_served_here(w.id) order by w.id limit $2',
);

interface Found {
  readonly ids: readonly bigint[];
  readonly last_id: bigint | null;
}

const FIND = sqlStatement<Found>(
  'find_unused_personal_data',
  'select ids, last_id from find_unused_personal_data($1, $2, $3, $4, $5, $6)',
);

const ERASE = sqlStatement<PersonalDataPosition>(
  'erase_unused_personal_data',
  'select part, after_id from erase_unused_personal_data($1, $2, $3, $4, $5, $6, $7, $8)',
);

/** With how long they are kept. In this order: the entry of a deposit is erased with its payer. */
const SUBJECTS = [
  ['recipient', 'recipientsKeptDays'],
  ['payer', 'payersKeptDays'],
  ['entry', 'payersKeptDays'],
  ['approval', 'recipientsKeptDays'],
] as const;

/** What is looked for: of one workspace, or of none for entries of bank accounts. */
interface Unused {
  readonly subject: (typeof SUBJECTS)[number][0];
  readonly keptDays: number;
  readonly workspaceId: bigint | undefined;
}

/** The database transactions of a pass, one a step: the error of one that failed, or undefined. */
type Steps<T = void> = AsyncGenerator<Error | undefined, T, undefined>;

/**
 * Makes personal data that were not used for long pseudonyms, over all workspaces: a chore of the worker. What fails is tried again in the
 * next pass, and delays no other.
 */
export class UnusedPersonalData {
  private pass: Steps | undefined;

  constructor(
    private readonly database: Database,
    private readonly retention = PERSONAL_DATA_RETENTION,
  ) {}

  /** Does one step of a pass. @returns 1 while the pass goes on, 0 at its end. @throws Error that names what failed: the next call goes on behind it */
  async eraseBatch(): Promise<number> {
    this.pass ??= this.steps();
    const step = await this.pass.next();
    if (step.done === true) this.pass = undefined;
    else if (step.value) throw step.value;
    return step.done === true ? 0 : 1;
  }

  private async *steps(): Steps {
    for (const [subject, kept] of SUBJECTS) {
      const keptDays = this.retention[kept];
      if (subject === 'entry') yield* this.stepsOf({ subject, keptDays, workspaceId: undefined });
      else yield* this.overWorkspaces((workspaceId) => this.stepsOf({ subject, keptDays, workspaceId }));
    }
  }

  private async *overWorkspaces(stepsOf: (workspaceId: bigint) => Steps): Steps {
    for (let afterId = 0n; ;) {
      const read = () => this.database.pipeline({}, [bind(NEXT_WORKSPACES, afterId.toString(), WORKSPACES)] as const);
      const found = yield* tried('workspaces with personal data were not read', Infinity, read);
      const ids = found?.[0].map(({ id }) => id) ?? [];
      for (const id of ids) yield* stepsOf(id);
      if (ids.length < WORKSPACES) return;
      afterId = ids.at(-1)!;
    }
  }

  private async *stepsOf(unused: Unused): Steps {
    const { subject, keptDays, workspaceId } = unused;
    const failure = `unused personal data were not found: ${subject} of workspace ${workspaceId ?? '-'}`;
    for (let afterId: bigint | null = 0n; afterId !== null;) {
      const position: bigint = afterId;
      const page: readonly [Found[]] | undefined = yield* tried(failure, ROWS_MAX.length, (nth) =>
        this.database.pipeline(scopeOf(unused), [
          bind(
            FIND,
            ...[subject, workspaceId?.toString() ?? null, keptDays, this.retention.paymentsKeptDays, ROWS_MAX[nth]!],
            position.toString(),
          ),
        ] as const),
      );
      const [found] = page?.[0] ?? [];
      for (const id of found?.ids ?? []) yield* this.erase(unused, id);
      afterId = found?.last_id ?? null;
      yield undefined;
    }
  }

  private async *erase(unused: Unused, id: bigint): Steps {
    const { subject, keptDays, workspaceId } = unused;
    const failure = `personal data were not erased: ${subject} ${id} of workspace ${workspaceId ?? '-'}`;
    let position = BEGINNING;
    do {
      const from = position;
      const page: readonly [PersonalDataPosition[]] | undefined = yield* tried(failure, ROWS_MAX.length, (nth) =>
        this.database.pipeline(scopeOf(unused), [
          bind(
            ERASE,
            ...[subject, workspaceId?.toString() ?? null, id.toString(), keptDays, this.retention.paymentsKeptDays],
            ...[ROWS_MAX[nth]!, ...positionOf(from)],
          ),
        ] as const),
      );
      position = page?.[0][0] ?? BEGINNING;
      yield undefined;
    } while (position.part !== null);
  }
}

const scopeOf = ({ workspaceId }: Unused) => (workspaceId === undefined ? {} : { workspaces: [Number(workspaceId)] });

/** Runs a database transaction until it succeeds. @returns undefined after so many failures, or if another cell serves the workspace */
async function* tried<T>(failure: string, times: number, run: (nth: number) => Promise<T>): Steps<T | undefined> {
  for (let nth = 0; nth < times; nth += 1) {
    try {
      return await run(nth);
    } catch (error) {
      if (isServedElsewhere(error)) return undefined;
      yield new Error(failure, { cause: error });
    }
  }
  return undefined;
}
