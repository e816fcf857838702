import { BankingClient } from '@banking/client';
import type { Caller } from './callers.js';
import { sql } from '@banking/postgres/testing';
import type { HttpResponse } from '../responses.js';
import { sendUntilServed, withoutRequestId as withoutId } from './matrix.js';
import { type CalledService, canariesOf, type StoredRows } from './services.js';
import type { World } from './world.js';

/** Database transactions that have booked for both workspaces. */
const SHARED = `select count(*)::int as count from (
  select from transaction where workspace_id = any($1::bigint[]) group by xmin::text having count(distinct workspace_id) = 2) shared`;

const SHARED_MIN = 3;
const ROUNDS_MAX = 40;
const ORDERS_OF_A_KIND = 5;
const NOWHERE = 8_999_999_999_999_999;
/** Of the account of the owner, and below the amount from which its orders wait for approvals. */
const MORE_THAN_FUNDS = '700000000000';

/** Orders of a workspace with limits are decided on what is read, and those of another one on what is remembered: in two batches. */
async function removeLimits(service: CalledService, { email, workspaceId }: Caller): Promise<void> {
  const token = await service.tokenOf(email);
  const { limits } = new BankingClient({ baseUrl: service.url, token }).workspace(workspaceId);
  const { version } = await limits.get();
  await limits.replace({ version, limits: [] });
}

/** The orders of two workspaces in the same batches. */
export class SharedBatches {
  private readonly faults: string[] = [];

  private constructor(
    private readonly service: CalledService,
    private readonly world: World,
    private readonly rows: StoredRows,
    /** What only the other workspace may see, by workspace. */
    private readonly secrets: Readonly<Record<'owner' | 'stranger', readonly string[]>>,
  ) {}

  /**
   * Places orders of two workspaces at the same time, until several batches contained orders of both: valid orders, orders that
   * are refused, and orders that name resources of the other workspace.
   *
   * @param isUnknown whether the response to the latter must be that for ids that exist nowhere, or may be any refusal
   * @returns what is wrong
   */
  static async check(service: CalledService, world: World, rows: StoredRows, isUnknown = true): Promise<string[]> {
    const { owner, stranger } = world.callers;
    const secretsOf = async ({ workspaceId, mark, email }: Caller) => {
      const canaries = canariesOf(await rows.rowsOf(workspaceId), [mark, email]);
      return canaries.filter((canary) => canary !== world.ownerHoldings.ids.accountCode);
    };
    const secrets = { owner: await secretsOf(owner), stranger: await secretsOf(stranger) };
    for (const caller of [owner, stranger]) await removeLimits(service, caller);
    const batches = new SharedBatches(service, world, rows, secrets);
    await batches.placeAll(isUnknown);
    return batches.faults;
  }

  private async placeAll(isUnknown: boolean): Promise<void> {
    const { account, recipient } = this.world.holdingsOf('stranger').ids;
    const absent = {
      account: await this.place('stranger', NOWHERE, { recipientID: recipient }),
      recipient: await this.place('stranger', account, { recipientID: NOWHERE }),
    };
    const enough = (await this.countShared()) + SHARED_MIN;
    for (let round = 0; (await this.countShared()) < enough; round++) {
      if (round === ROUNDS_MAX) {
        this.faults.push('too few batches had orders of both workspaces');
        return;
      }
      const marks = Array.from({ length: ORDERS_OF_A_KIND }, (_, index) => `${round}/${index}`);
      await Promise.all(marks.map((mark) => this.placeOfEachKind(mark, isUnknown ? absent : undefined)));
    }
  }

  private async placeOfEachKind(
    mark: string,
    absent: Readonly<Record<'account' | 'recipient', HttpResponse>> | undefined,
  ): Promise<void> {
    const owned = this.world.ownerHoldings.ids;
    const { account, recipient } = this.world.holdingsOf('stranger').ids;
    const [one, other, tooLarge, toRecipient, fromAccount] = await Promise.all([
      this.place('owner', owned.account, { recipientID: owned.recipient, description: `owner ${mark}` }),
      this.place('stranger', account, { recipientID: recipient, description: `stranger ${mark}` }),
      this.place('owner', owned.account, { recipientID: owned.recipient, amount: MORE_THAN_FUNDS }),
      this.place('stranger', account, { recipientID: owned.recipient }),
      this.place('stranger', owned.account, { recipientID: recipient }),
    ]);
    this.expectPlaced(one, `owner ${mark}`, this.secrets.stranger);
    this.expectPlaced(other, `stranger ${mark}`, this.secrets.owner);
    if (!tooLarge.text.includes('"insufficient_funds"')) this.faults.push(`without funds: ${tooLarge.text}`);
    this.expectRefused(toRecipient, absent?.recipient);
    this.expectRefused(fromAccount, absent?.account);
  }

  private expectPlaced({ status, text }: HttpResponse, mark: string, secrets: readonly string[]): void {
    if (status !== 200 || !text.includes(`"description":"${mark}"`)) this.faults.push(`${mark} is refused: ${text}`);
    if (secrets.some((secret) => text.includes(secret))) this.faults.push(`${mark} discloses the other: ${text}`);
  }

  private expectRefused({ status, text }: HttpResponse, absent: HttpResponse | undefined): void {
    if (status < 400) this.faults.push(`an order with resources of the owner is placed: ${text}`);
    if (this.secrets.owner.some((secret) => text.includes(secret))) this.faults.push(`a refusal discloses: ${text}`);
    const isEqual = !absent || (status === absent.status && withoutId(text) === withoutId(absent.text));
    if (!isEqual) this.faults.push(`the response is ${text} instead of ${absent.text}`);
  }

  private place(
    name: 'owner' | 'stranger',
    account: string | number,
    body: Readonly<Record<string, unknown>>,
  ): Promise<HttpResponse> {
    const { email, workspaceId } = this.world.callers[name];
    return sendUntilServed(this.service, `/accounts/${account}/orders`, {
      as: email,
      workspace: workspaceId,
      body: { type: 'instant', amount: '1', ...body },
    });
  }

  private async countShared(): Promise<number> {
    const { owner, stranger } = this.world.callers;
    const workspaces = [owner.workspaceId, stranger.workspaceId];
    const [row] = await this.rows.send(workspaces, sql<{ count: number }>(SHARED, workspaces));
    return row?.count ?? 0;
  }
}
