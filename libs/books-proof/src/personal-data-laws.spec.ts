import * as fc from 'fast-check';
import { type ExportProof, proveExport } from '@banking/domain/proof';
import { personalWorld, type PersonalWorld } from '@banking/operations/testing';
import { testOrProve } from '@banking/postgres/testing';
import { exportBooks } from './export-books.js';

let world: PersonalWorld;

beforeAll(async () => {
  world = await personalWorld();
});
afterAll(() => world.close());

async function exported(): Promise<{ readonly text: string; readonly proof: ExportProof }> {
  const pieces: string[] = [];
  const workspace = { id: world.workspaceId, name: 'Northwind Trading' };
  await exportBooks(world.asOperator, workspace, async (text) => void pieces.push(text));
  const text = pieces.join('');
  return { text, proof: await proveExport(text.trimEnd().split('\n')) };
}

/** A person whose personal data are held. */
interface Person {
  readonly marker: string;
  readonly subject: 'recipient' | 'payer' | 'approval' | 'invitation' | 'user';
  readonly id: number;
  /** Orders that still run. */
  readonly active: number[];
  /** Whether money of the person is on its way, or waits for an operator. */
  isPending: boolean;
  isErased: boolean;
}

type Step =
  | { readonly act: 'abroad' | 'rejected' | 'near' | 'payer' | 'unmatched' | 'user' | 'work' | 'retain' }
  | { readonly act: 'approved near' | 'not approved' | 'invited' }
  | { readonly act: 'pay approved' | 'pay' | 'schedule' | 'cancel' | 'erase' | 'dry run'; readonly nth: number };

const nth = fc.nat(5);
const steps = fc.array(
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({ act: fc.constantFrom('abroad' as const, 'rejected' as const, 'near' as const) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ act: fc.constantFrom('payer' as const, 'unmatched' as const, 'user' as const) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        act: fc.constantFrom('approved near' as const, 'not approved' as const, 'invited' as const),
      }),
    },
    { weight: 2, arbitrary: fc.record({ act: fc.constantFrom('work' as const, 'retain' as const) }) },
    {
      weight: 4,
      arbitrary: fc.record({
        act: fc.constantFrom('pay' as const, 'pay approved' as const, 'schedule' as const, 'cancel' as const),
        nth,
      }),
    },
    { weight: 5, arbitrary: fc.record({ act: fc.constantFrom('erase' as const, 'dry run' as const), nth }) },
  ),
  { minLength: 4, maxLength: 14 },
);

let markers = 0;
/** A word of letters: names of beneficiaries have no digits. */
function newMarker(): string {
  markers += 1;
  const letters = [...markers.toString(20).padStart(4, '0')].map((digit) =>
    String.fromCharCode(97 + Number.parseInt(digit, 20)),
  );
  return `Quxq${letters.join('')}`;
}

/** A model of what is held, and the database beside it. */
class Held {
  readonly persons: Person[] = [];

  async take(step: Step): Promise<void> {
    const recipients = this.persons.filter(({ subject, isErased }) => subject === 'recipient' && !isErased);
    const pick = <T>(all: readonly T[]): T | undefined =>
      'nth' in step ? all[step.nth % Math.max(all.length, 1)] : undefined;
    switch (step.act) {
      case 'abroad':
      case 'rejected':
      case 'near': {
        const marker = newMarker();
        const iban = step.act === 'rejected' ? 'rejected' : 'paid';
        const id = step.act === 'near' ? await world.near(marker) : await world.recipient(marker, iban);
        return this.add('recipient', marker, id);
      }
      case 'payer':
      case 'unmatched': {
        const marker = newMarker();
        const isUnmatched = step.act === 'unmatched';
        return this.add('payer', marker, await world.deposit(marker, isUnmatched), isUnmatched);
      }
      case 'user': {
        const marker = newMarker();
        return this.add('user', marker, await world.user(marker));
      }
      case 'approved near': {
        const marker = newMarker();
        return this.add('recipient', marker, await world.approved(marker));
      }
      case 'not approved': {
        const marker = newMarker();
        return this.add('approval', marker, await world.rejected(marker));
      }
      case 'invited': {
        const marker = newMarker();
        return this.add('invitation', marker, await world.invited(marker));
      }
      case 'pay':
      case 'pay approved': {
        const paid = pick(recipients);
        if (!paid) return;
        await (step.act === 'pay' ? world.pay : world.payApproved)(paid.id as never, paid.marker);
        return;
      }
      case 'schedule': {
        const paid = pick(recipients);
        if (!paid) return;
        const later = { type: 'scheduled', startAt: '2099-01-01T09:00:00Z' } as const;
        paid.active.push(await world.pay(paid.id as never, paid.marker, later));
        return;
      }
      case 'cancel': {
        const [orderId] = pick(recipients)?.active.splice(0, 1) ?? [];
        if (orderId !== undefined) await world.cancel(orderId);
        return;
      }
      case 'work':
        return world.work();
      case 'retain': {
        const before = await world.rest();
        await this.seePending();
        await world.eraseUnused();
        expect(await world.rest()).toEqual(before);
        for (const person of this.persons) if (!isOfDirectory(person) && !mustBeKept(person)) person.isErased = true;
        return;
      }
      case 'erase':
      case 'dry run': {
        const person = pick(this.persons);
        if (person) await this.erase(person, step.act === 'dry run');
      }
    }
  }

  /** Erases the personal data of a person, or sees why they are kept. Nothing else changes. */
  private async erase(person: Person, isDryRun: boolean): Promise<void> {
    await this.seePending();
    const before = await world.rest();
    const workspaceId = isOfDirectory(person) ? undefined : world.workspaceId;
    const named = { subject: person.subject, id: person.id, workspaceId };

    const done = await world.erase(named, { isDryRun });

    expect(await world.rest()).toEqual(before);
    if (mustBeKept(person)) {
      expect(done).toEqual({
        kept: [expect.any(String), ...Array.from({ length: reasonsOf(person) - 1 }, () => expect.any(String))],
        erased: {},
      });
      return;
    }
    expect(done).toEqual({ erased: person.isErased ? {} : expect.objectContaining({}) });
    if (!person.isErased) expect(Object.keys((done as { erased: object }).erased)).not.toEqual([]);
    if (!isDryRun) {
      person.isErased = true;
      expect(await world.erase(named)).toEqual({ erased: {} });
    }
  }

  /** The network of the sandbox ends payments in its own time. */
  private async seePending(): Promise<void> {
    const { rows } = await world.owner.query<{ id: bigint }>(
      `select distinct t.recipient_id as id from transfer t join transaction x on x.id = t.transaction_id and x.status = 'pending'
       where t.recipient_id is not null`,
    );
    const pending = new Set(rows.map(({ id }) => Number(id)));
    for (const person of this.persons) if (person.subject === 'recipient') person.isPending = pending.has(person.id);
  }

  private add(subject: Person['subject'], marker: string, id: number, isPending = false): void {
    this.persons.push({ subject, marker, id, active: [], isPending, isErased: false });
  }
}

/** People of the directory are erased by request only. */
const isOfDirectory = ({ subject }: Person) => subject === 'user' || subject === 'invitation';
const reasonsOf = ({ active, isPending }: Person) => Number(active.length > 0) + Number(isPending);
const mustBeKept = (person: Person) => !person.isErased && reasonsOf(person) > 0;

describe('any payments, deposits, erasures and runs of the retention', () => {
  it('erase what need not be kept from every table, and change nothing else; books, hashes and exports stay valid', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        const held = new Held();
        const before = await exported();
        for (const step of taken) await held.take(step);

        for (const { marker, isErased } of held.persons) {
          expect({ marker, tables: await world.tablesWith(marker) }).toEqual({
            marker,
            tables: isErased ? [] : expect.arrayContaining([expect.any(String)]),
          });
        }
        await world.expectInOrder();
        const after = await exported();
        expect(after.proof.transactions).toBeGreaterThanOrEqual(before.proof.transactions);
        for (const { marker, isErased } of held.persons) {
          if (isErased) expect(after.text).not.toContain(marker);
        }
        // An export from before an erasure is as valid after it.
        expect((await proveExport(before.text.trimEnd().split('\n'))).accounts).toEqual(before.proof.accounts);
      }),
      { numRuns: testOrProve(4, 12) },
    );
  });
});
