import type { PlainNumber, WorkspaceId } from '@banking/domain';
import type { HttpTransportOptions } from './http-transport.js';
import {
  type AppMethods,
  type CorridorMethods,
  type InvitationMethods,
  type MethodsWithoutWorkspace,
  methodsWithoutWorkspace,
  type ProductMethods,
  type PurposeMethods,
  type RecipientSchemaMethods,
  viewOf,
  type WorkspaceView,
} from './workspace-view.js';
import { RemoteBankingService } from './remote-banking-service.js';

export type BankingClientOptions = HttpTransportOptions;

/**
 * The client of the service: `new BankingClient({ baseUrl, token }).workspace(7).transfers.get(42)`.
 *
 * Every call has one deadline for all attempts. The client retries if a retry is safe; the README has the table.
 *
 * @throws RemoteRefusal, from every method, for a refusal of the service; a plain Refusal for an argument that cannot
 *   be sent.
 * @throws ServiceError, from every method, for any other response that is not a success.
 * @throws ConnectionError, from every method, without a complete response before the deadline.
 * @throws OutcomeUnknownError, from every method that writes, instead of the others, if the write may have been
 *   executed.
 */
export class BankingClient implements MethodsWithoutWorkspace {
  readonly apps: AppMethods;
  readonly products: ProductMethods;
  readonly corridors: CorridorMethods;
  readonly recipientSchemas: RecipientSchemaMethods;
  readonly purposes: PurposeMethods;
  readonly invitations: InvitationMethods;
  readonly #service: RemoteBankingService;
  /** The latest view: most callers use one workspace, and a view costs as much as the rest of a call. */
  #view: WorkspaceView | undefined;
  #id: number | undefined;

  /** @throws TypeError for an invalid base URL, token, timeout or number of retries. */
  constructor(options: BankingClientOptions) {
    this.#service = new RemoteBankingService(options);
    const { apps, products, corridors, recipientSchemas, purposes, invitations } = methodsWithoutWorkspace(
      this.#service,
    );
    this.apps = apps;
    this.products = products;
    this.corridors = corridors;
    this.recipientSchemas = recipientSchemas;
    this.purposes = purposes;
    this.invitations = invitations;
  }

  /** The operations of one workspace: `client.workspace(7).transfers.get(42)`. */
  workspace(id: WorkspaceId | PlainNumber): WorkspaceView {
    if (this.#id !== id) this.#view = undefined;
    this.#id = id;
    return (this.#view ??= viewOf(this.#service, { workspaceId: id as WorkspaceId }));
  }
}
