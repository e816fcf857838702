import { sql } from '@banking/postgres/testing';
import type { Route } from '../documented/document.js';
import { requestWith, variantsOf } from '../documented/inputs.js';
import { sendRequest } from '../responses.js';
import { type Caller, type Callers, Holdings, provision } from './callers.js';
import { type CallerName, type Cursors, kindOf, ownIdentifiers, type Plan, wayName } from './cases.js';
import { type CalledService, canariesOf, type Rows } from './services.js';

/** Callers of four workspaces, what they have, and what only the owner may see. */
export interface World {
  readonly callers: Callers;
  readonly ownerHoldings: Holdings;
  /** Texts that no response to another caller may contain. */
  readonly canaries: readonly string[];
  holdingsOf(caller: CallerName): Holdings;
  cursorsOf(caller: keyof Callers): Cursors;
  /** The rows of the other workspaces that contain what only the owner may see. */
  canariesInOtherRows(): Promise<readonly string[]>;
}

/** A second run of the order, so that its list of runs has a second page. */
const ADD_RUN = `insert into execution (workspace_id, order_id, sequence, status, scheduled_at)
  values ($1, $2, 2, 'cancelled', '2099-02-28T09:00:00Z')`;

/** Two announced deposits, so that their list has a second page. */
const ADD_DEPOSITS = `insert into deposit (workspace_id, account_id, currency_id, amount, status, reference, payer, entry_id)
  select a.workspace_id, a.id, a.currency_id, n, 'pending', $3, jsonb_build_object('name', $3::text), a.id * 10 + n
  from account a cross join generate_series(1, 2) n where a.workspace_id = $1 and a.id = $2 returning id`;

const RECORD_CHANGES = sql('select record_changes(1000)');
const RECORD_AUDIT = sql('select record_audit(100000)');

/** The colleague and the sharer act in the workspace of the neighbour. */
const homeOf = (caller: keyof Callers) => (caller === 'owner' || caller === 'stranger' ? caller : 'neighbour');

/**
 * Makes the callers and their resources. A second world on the same database needs another name.
 */
export async function makeWorld(
  service: CalledService,
  rows: Rows,
  plans: readonly Plan[],
  worldName = 'isolation',
): Promise<World> {
  const routes = plans.map(({ route }) => route);
  const { callers, sharedIds } = await provision(rows, worldName);
  const holdings = {
    owner: await Holdings.make(service, callers.owner),
    stranger: await Holdings.make(service, callers.stranger),
    neighbour: await Holdings.make(service, callers.neighbour),
  };
  for (const name of ['owner', 'stranger', 'neighbour'] as const) {
    const { workspaceId } = callers[name];
    await rows.send([workspaceId], sql(ADD_RUN, workspaceId, holdings[name].ids.order));
    const texts = [workspaceId, holdings[name].ids.account, `${callers[name].mark} deposit`];
    const [deposit] = await rows.send([workspaceId], sql<{ id: bigint }>(ADD_DEPOSITS, ...texts));
    holdings[name] = holdings[name].withDeposit(Number(deposit?.id));
  }
  const publicCode = String(holdings.owner.ids.accountCode);
  await holdings.stranger.pay(publicCode);
  await holdings.neighbour.pay(publicCode);
  for (const name of ['owner', 'stranger', 'neighbour'] as const) {
    // No worker runs here. One call records the changes of all workspaces of a database.
    await rows.send([callers[name].workspaceId], RECORD_CHANGES);
    await rows.send([callers[name].workspaceId], RECORD_AUDIT);
    holdings[name] = await holdings[name].withEvent();
  }
  const cursors = {
    owner: await readCursors(service, callers.owner, holdings.owner, routes),
    stranger: await readCursors(service, callers.stranger, holdings.stranger, routes),
    neighbour: await readCursors(service, callers.neighbour, holdings.neighbour, routes),
  };
  const known = new Set([publicCode, ...sharedIds.map(String)]);
  const readCanaries = async () => {
    const ownerRows = await rows.rowsOf(callers.owner.workspaceId);
    const canaries = canariesOf(ownerRows, [callers.owner.mark, callers.owner.email]);
    return canaries.filter((canary) => !known.has(canary));
  };
  return {
    callers,
    ownerHoldings: holdings.owner,
    canaries: await readCanaries(),
    holdingsOf: (caller) => holdings[homeOf(caller)] as Holdings,
    cursorsOf: (caller) => cursors[homeOf(caller)],
    async canariesInOtherRows() {
      const { stranger, neighbour } = callers;
      const others = [...(await rows.rowsOf(stranger.workspaceId)), ...(await rows.rowsOf(neighbour.workspaceId))];
      const canaries = await readCanaries();
      return others.filter((row) => canaries.some((canary) => row.includes(canary)));
    },
  };
}

/** The end of the first page of each list. */
async function readCursors(
  service: CalledService,
  { email }: Caller,
  holdings: Holdings,
  routes: readonly Route[],
): Promise<Cursors> {
  const cursors = new Map<string, string>();
  const own = ownIdentifiers(holdings, cursors);
  for (const route of routes.filter(({ operation }) => operation.parameters.some(({ name }) => name === 'cursor'))) {
    for (const variant of variantsOf(route)) {
      const way = { route, variant };
      const { path, ...request } = requestWith(route, variant, (position, isRequired) =>
        isRequired ? own(kindOf(position)!, way) : undefined,
      );
      const page = `${path}${path.includes('?') ? '&' : '?'}limit=1`;
      const { headers } = await sendRequest(service, page, { ...request, as: email });
      const cursor = /[?&]cursor=([^&>]+)/.exec(headers.get('link') ?? '')?.[1];
      if (cursor !== undefined) cursors.set(wayName(way), cursor);
    }
  }
  return cursors;
}
