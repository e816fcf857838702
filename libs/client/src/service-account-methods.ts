import type {
  CreateServiceAccountInput,
  CreateServiceAccountKeyInput,
  Page,
  PageQuery,
  PlainNumber,
  Scope,
  ServiceAccount,
  ServiceAccountChange,
  ServiceAccountId,
  ServiceAccountKey,
  ServiceAccountKeyId,
  ServiceAccountKeyRotation,
  ServiceAccountKeyWithSecret,
} from '@banking/domain';
import { iteratePages } from './pages.js';
import type { CreationResult, RemoteBankingService } from './remote-banking-service.js';
import type { CallOptions, CreationOptions } from './transport.js';

type AccountId = ServiceAccountId | PlainNumber;
type KeyId = ServiceAccountKeyId | PlainNumber;

/** The keys of service accounts of one workspace. */
export interface ServiceAccountKeyMethods {
  /** Iterates over the keys of a service account that are not revoked, newest first. */
  list(id: AccountId, query?: PageQuery, options?: CallOptions): AsyncGenerator<ServiceAccountKey, void, undefined>;
  /** One page. Its `next` is the `cursor` of the following page. */
  listPage(id: AccountId, query?: PageQuery, options?: CallOptions): Promise<Page<ServiceAccountKey>>;
  get(id: AccountId, keyId: KeyId, options?: CallOptions): Promise<ServiceAccountKey>;
  /** Store the `secret` of the result: the service shows it once. */
  create(
    id: AccountId,
    input?: Omit<CreateServiceAccountKeyInput, 'serviceAccountId'>,
    options?: CreationOptions,
  ): Promise<CreationResult<ServiceAccountKeyWithSecret>>;
  /** Creates a key with the networks of another one, which stays valid for the overlap. Store the `secret` of the result. */
  rotate(
    id: AccountId,
    keyId: KeyId,
    rotation?: Omit<ServiceAccountKeyRotation, 'serviceAccountId' | 'keyId'>,
    options?: CreationOptions,
  ): Promise<CreationResult<ServiceAccountKeyWithSecret>>;
  /** Revokes a key permanently, within five seconds everywhere. */
  revoke(id: AccountId, keyId: KeyId, options?: CallOptions): Promise<void>;
}

/** The service accounts of one workspace, for its administrators. */
export interface ServiceAccountMethods {
  /** Iterates over all service accounts, newest first. */
  list(query?: PageQuery, options?: CallOptions): AsyncGenerator<ServiceAccount, void, undefined>;
  /** One page. Its `next` is the `cursor` of the following page. */
  listPage(query?: PageQuery, options?: CallOptions): Promise<Page<ServiceAccount>>;
  get(id: AccountId, options?: CallOptions): Promise<ServiceAccount>;
  create(input: CreateServiceAccountInput, options?: CreationOptions): Promise<CreationResult<ServiceAccount>>;
  /** Changes the name, roles or scopes. Omitted fields stay. */
  change(
    id: AccountId,
    change: Omit<ServiceAccountChange, 'serviceAccountId'>,
    options?: CallOptions,
  ): Promise<ServiceAccount>;
  /** Deletes the service account and revokes its keys. */
  delete(id: AccountId, options?: CallOptions): Promise<void>;
  readonly keys: ServiceAccountKeyMethods;
}

export const serviceAccountMethods = (client: RemoteBankingService, scope: Scope): ServiceAccountMethods => {
  const named = (id: AccountId) => ({ serviceAccountId: id });
  const listPage: ServiceAccountMethods['listPage'] = (query, options) =>
    client.listServiceAccounts(scope, query, options);
  return {
    listPage,
    list: (query, options) => iteratePages((cursor) => listPage({ ...query, cursor }, options), query?.cursor),
    get: (id, options) => client.getServiceAccount(scope, named(id), options),
    create: (input, options) => client.createServiceAccount(scope, input, options),
    change: (id, change, options) => client.changeServiceAccount(scope, { ...change, ...named(id) }, options),
    delete: (id, options) => client.deleteServiceAccount(scope, named(id), options),
    keys: keyMethods(client, scope),
  };
};

const keyMethods = (client: RemoteBankingService, scope: Scope): ServiceAccountKeyMethods => {
  const named = (id: AccountId, keyId: KeyId) => ({ serviceAccountId: id, keyId });
  const listPage: ServiceAccountKeyMethods['listPage'] = (id, query, options) =>
    client.listServiceAccountKeys(scope, { ...query, serviceAccountId: id }, options);
  return {
    listPage,
    list: (id, query, options) => iteratePages((cursor) => listPage(id, { ...query, cursor }, options), query?.cursor),
    get: (id, keyId, options) => client.getServiceAccountKey(scope, named(id, keyId), options),
    create: (id, input, options) => client.createServiceAccountKey(scope, { ...input, serviceAccountId: id }, options),
    rotate: (id, keyId, rotation, options) =>
      client.rotateServiceAccountKey(scope, { ...rotation, ...named(id, keyId) }, options),
    revoke: (id, keyId, options) => client.revokeServiceAccountKey(scope, named(id, keyId), options),
  };
};
