import type { Endpoint } from '../call.js';
import type { Cluster } from '../cluster.js';
import { FUNDS, type LoadAccount, Preparation } from '../world.js';
import type { CellName } from './cell-servers.js';
import { makeCellsWorld, type PlacedWorkspace } from './cells-world.js';

/** An account that pays an account of another workspace, which is in another cell unless it was moved. */
export interface CellPair {
  readonly from: CellName;
  readonly to: CellName;
  readonly payer: LoadAccount;
  readonly payee: LoadAccount;
  readonly recipientId: number;
  /** Whether the payee takes no payments, so that the money comes back. */
  readonly isClosed: boolean;
}

/** The workspaces, and every way to pay from one to another: to an account that is open, and to one that is closed. */
export async function makeCrossingWorld(
  cluster: Cluster,
  endpoint: Endpoint,
): Promise<{ readonly places: readonly PlacedWorkspace[]; readonly pairs: readonly CellPair[] }> {
  const places = await makeCellsWorld(cluster, endpoint);
  const preparation = new Preparation(endpoint);
  await preparation.readProducts(places[0]!.workspaceId);
  const pairs: CellPair[] = [];
  for (const { cell: to, workspaceId, payee: open } of places) {
    const closed = await preparation.openAccount(workspaceId, 'EUR', FUNDS);
    for (const { cell: from, workspaceId: origin, payer } of places.filter(
      (place) => place.workspaceId !== workspaceId,
    )) {
      for (const payee of [open, closed]) {
        const recipientId = await preparation.addRecipient(origin, payee);
        pairs.push({ from, to, payer, payee, recipientId, isClosed: payee === closed });
      }
    }
    await preparation.disable(closed);
  }
  return { places, pairs };
}
