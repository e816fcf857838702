import type { Endpoint } from '../call.js';
import type { Cluster } from '../cluster.js';
import { FUNDS, type LoadAccount, Preparation } from '../world.js';
import type { CellName } from './cell-servers.js';

/** A workspace in one of the cells, with accounts and recipients of its own. */
export interface PlacedWorkspace {
  readonly cell: CellName;
  readonly workspaceId: number;
  readonly payer: LoadAccount;
  readonly payee: LoadAccount;
  /** The account `payee`. */
  readonly recipientId: number;
  /** Of payouts in EUR. */
  readonly payoutRecipientId: number;
}

/** A user of the demo data with a role in the workspaces of all cells. */
const CALLER_OF_ALL = 'gateway@northwind.example';

/** Those of the demo data: at first, one in each cell. */
const PLACES = `
  select c.name as cell, p.workspace_id::float8 as "workspaceId"
  from workspace_place p join cell c on c.number = p.cell_number
  order by p.workspace_id`;

/** The calls of the user who may act in all cells. */
export async function endpointOfAll(cluster: Cluster): Promise<Endpoint> {
  return { ...cluster.endpoint, token: await cluster.newToken({ caller: CALLER_OF_ALL }) };
}

/** Opens two accounts in each workspace, with money and recipients. */
export async function makeCellsWorld(cluster: Cluster, endpoint: Endpoint): Promise<readonly PlacedWorkspace[]> {
  const places = await cluster.database.query<{ cell: CellName; workspaceId: number }>(PLACES);
  const preparation = new Preparation(endpoint);
  await preparation.readProducts(places[0]!.workspaceId);
  return Promise.all(
    places.map(async ({ cell, workspaceId }): Promise<PlacedWorkspace> => {
      const [payer, payee] = [
        await preparation.openAccount(workspaceId, 'EUR', FUNDS),
        await preparation.openAccount(workspaceId, 'EUR', FUNDS),
      ];
      return {
        ...{ cell, workspaceId, payer, payee },
        recipientId: await preparation.addRecipient(workspaceId, payee),
        payoutRecipientId: await preparation.addPayoutRecipient(workspaceId),
      };
    }),
  );
}
