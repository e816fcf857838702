import type { PlainNumber, WorkspaceId } from '@banking/domain';
import type { HttpTransportOptions } from './http-transport.js';
import { RemoteBankingService } from './remote-banking-service.js';
import { viewOf, type WorkspaceView } from './workspace-view.js';

export type BankingClientOptions = HttpTransportOptions;

/**
 * The port over HTTP.
 *
 * The scope names the workspace. The token names the caller, so `scope.actor` is not sent; only a custom `fetch` sees
 * it, in `call`. Every call has one deadline for all attempts. The client retries if a retry is safe; the README has the
 * table.
 *
 * @throws RemoteRefusal, from every method, for a refusal of the service; a plain Refusal for an argument that cannot
 *   be sent.
 * @throws ServiceError, from every method, for any other response that is not a success.
 * @throws ConnectionError, from every method, without a complete response before the deadline.
 * @throws OutcomeUnknownError, from every method that writes, instead of the others, if the write may have been
 *   executed.
 */
export class BankingClient extends RemoteBankingService {
  /** The latest view: most callers use one workspace, and a view costs as much as the rest of a call. */
  #view: WorkspaceView | undefined;
  #id: number | undefined;

  /** The same operations for one workspace: `client.workspace(7).transfers.get(42)`. */
  workspace(id: WorkspaceId | PlainNumber): WorkspaceView {
    if (this.#id !== id) this.#view = undefined;
    this.#id = id;
    return (this.#view ??= viewOf(this, { workspaceId: id as WorkspaceId }));
  }
}
