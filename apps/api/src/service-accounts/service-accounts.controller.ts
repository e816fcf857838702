import { Body, Controller, Delete, Get, HttpCode, Module, Param, Patch, Post, Query, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import {
  BankingService,
  KEY_PATTERN,
  type RequestOptions,
  SERVICE_ACCOUNT_KEYS_MAX,
  SERVICE_ACCOUNTS_MAX,
  type ServiceAccount,
  type ServiceAccountId,
  type ServiceAccountKey,
  type ServiceAccountKeyId,
} from '@banking/domain';
import { CalledBy, type Caller } from '../access/access-check.js';
import { Operation, paragraphs } from '../access/operation.decorator.js';
import { RequestOptionsOf, sendCreated } from '../input/creation.js';
import { ApiIdParam, bodyPipe, IdPipe, queryPipe } from '../input/input.pipe.js';
import { PageQueryDto, sendPage } from '../input/page.js';
import {
  CreateServiceAccountInputDto,
  CreateServiceAccountKeyInputDto,
  ServiceAccountChangeDto,
  ServiceAccountDto,
  ServiceAccountKeyDto,
  ServiceAccountKeyRotationDto,
  ServiceAccountKeyWithSecretDto,
} from './service-account.dto.js';

const SERVICE_ACCOUNT_ID = [
  'serviceAccountId',
  'A service account of the workspace. The response is the same for one of another workspace and one that does not exist.',
] as const;
const KEY_ID = ['keyId', 'A key of the service account.'] as const;
const SHOWN_ONCE =
  'The response shows the `secret` once. The service stores only its hash: the replay of a request with the same `Idempotency-Key` has no `secret`.';

const keysOf = (serviceAccountId: ServiceAccountId) => `/service-accounts/${serviceAccountId}/keys`;

@ApiTags('Service accounts')
@Controller('service-accounts/:serviceAccountId/keys')
class ServiceAccountKeysController {
  constructor(private readonly banking: BankingService) {}

  @Get()
  @Operation('listServiceAccountKeys', {
    summary: 'List keys',
    description: 'Lists the keys of a service account that are not revoked, newest first, without their secrets.',
    provenance: 'ours',
  })
  @ApiIdParam(...SERVICE_ACCOUNT_ID)
  @ApiOkResponse({ description: 'A page of keys.', type: [ServiceAccountKeyDto] })
  async list(
    @CalledBy() caller: Caller,
    @Param('serviceAccountId', IdPipe) serviceAccountId: ServiceAccountId,
    @Query(queryPipe) query: PageQueryDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return sendPage(reply, await this.banking.listServiceAccountKeys(caller, { ...query, serviceAccountId }));
  }

  @Post()
  @Operation('createServiceAccountKey', {
    summary: 'Create a key',
    description: paragraphs(
      `Creates a key, which the program sends as \`Authorization: Bearer\`. A service account has ${SERVICE_ACCOUNT_KEYS_MAX} valid keys at most.`,
      '',
      SHOWN_ONCE,
      '',
      `Scanners of secrets recognise a key by \`${KEY_PATTERN.source.slice(1, -1)}\`.`,
    ),
    provenance: 'ours',
  })
  @ApiIdParam(...SERVICE_ACCOUNT_ID)
  @ApiCreatedResponse({ description: 'The new key.', type: ServiceAccountKeyWithSecretDto })
  async create(
    @CalledBy() caller: Caller,
    @Param('serviceAccountId', IdPipe) serviceAccountId: ServiceAccountId,
    @Body(bodyPipe) input: CreateServiceAccountKeyInputDto,
    @RequestOptionsOf() options: RequestOptions,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const created = await this.banking.createServiceAccountKey(caller, { ...input, serviceAccountId }, options);
    return sendCreated(reply, keysOf(serviceAccountId), created);
  }

  @Get(':keyId')
  @Operation('getServiceAccountKey', {
    summary: 'Retrieve a key',
    description: 'Returns one key without its secret, with the minute of its last request.',
    provenance: 'ours',
  })
  @ApiIdParam(...SERVICE_ACCOUNT_ID)
  @ApiIdParam(...KEY_ID)
  @ApiOkResponse({ description: 'The key.', type: ServiceAccountKeyDto })
  get(
    @CalledBy() caller: Caller,
    @Param('serviceAccountId', IdPipe) serviceAccountId: ServiceAccountId,
    @Param('keyId', IdPipe) keyId: ServiceAccountKeyId,
  ): Promise<ServiceAccountKey> {
    return this.banking.getServiceAccountKey(caller, { serviceAccountId, keyId });
  }

  @Delete(':keyId')
  @HttpCode(204)
  @Operation('revokeServiceAccountKey', {
    summary: 'Revoke a key',
    description: paragraphs(
      'Revokes a key permanently. Every process of the service refuses it within five seconds, and the one that revoked it within a second.',
      'A second revocation fails with 404, so after a lost response a 404 means that the key is revoked.',
    ),
    provenance: 'ours',
  })
  @ApiIdParam(...SERVICE_ACCOUNT_ID)
  @ApiIdParam(...KEY_ID)
  @ApiNoContentResponse({ description: 'The key is revoked. The response has no body.' })
  revoke(
    @CalledBy() caller: Caller,
    @Param('serviceAccountId', IdPipe) serviceAccountId: ServiceAccountId,
    @Param('keyId', IdPipe) keyId: ServiceAccountKeyId,
  ): Promise<void> {
    return this.banking.revokeServiceAccountKey(caller, { serviceAccountId, keyId });
  }

  @Post(':keyId/rotation')
  @Operation('rotateServiceAccountKey', {
    summary: 'Rotate a key',
    description: paragraphs(
      'Creates a key with the networks of another one. The former key stays valid for the overlap, and never longer than it would have.',
      '',
      SHOWN_ONCE,
    ),
    provenance: 'ours',
  })
  @ApiIdParam(...SERVICE_ACCOUNT_ID)
  @ApiIdParam(...KEY_ID)
  @ApiCreatedResponse({ description: 'The new key.', type: ServiceAccountKeyWithSecretDto })
  async rotate(
    @CalledBy() caller: Caller,
    @Param('serviceAccountId', IdPipe) serviceAccountId: ServiceAccountId,
    @Param('keyId', IdPipe) keyId: ServiceAccountKeyId,
    @Body(bodyPipe) input: ServiceAccountKeyRotationDto,
    @RequestOptionsOf() options: RequestOptions,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const created = await this.banking.rotateServiceAccountKey(caller, { ...input, serviceAccountId, keyId }, options);
    return sendCreated(reply, keysOf(serviceAccountId), created);
  }
}

@ApiTags('Service accounts')
@Controller('service-accounts')
class ServiceAccountsController {
  constructor(private readonly banking: BankingService) {}

  @Get()
  @Operation('listServiceAccounts', {
    summary: 'List service accounts',
    description: 'Lists the service accounts of the workspace, newest first.',
    provenance: 'ours',
  })
  @ApiOkResponse({ description: 'A page of service accounts.', type: [ServiceAccountDto] })
  async list(
    @CalledBy() caller: Caller,
    @Query(queryPipe) query: PageQueryDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return sendPage(reply, await this.banking.listServiceAccounts(caller, query));
  }

  @Post()
  @Operation('createServiceAccount', {
    summary: 'Create a service account',
    description: paragraphs(
      'Creates a program that calls the service in this workspace, without a key.',
      `A workspace has ${SERVICE_ACCOUNTS_MAX} service accounts at most.`,
      '',
      'Its orders, pauses, events and entries of the audit trail are those of a user. It is no user of `GET /apps/{appId}/users`.',
      'It never approves and never administers.',
    ),
    provenance: 'ours',
    changesDirectory: true,
  })
  @ApiCreatedResponse({ description: 'The new service account.', type: ServiceAccountDto })
  async create(
    @CalledBy() caller: Caller,
    @Body(bodyPipe) input: CreateServiceAccountInputDto,
    @RequestOptionsOf() options: RequestOptions,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const created = await this.banking.createServiceAccount(caller, input, options);
    return sendCreated(reply, '/service-accounts', created);
  }

  @Get(':serviceAccountId')
  @Operation('getServiceAccount', {
    summary: 'Retrieve a service account',
    description: 'Returns one service account.',
    provenance: 'ours',
  })
  @ApiIdParam(...SERVICE_ACCOUNT_ID)
  @ApiOkResponse({ description: 'The service account.', type: ServiceAccountDto })
  get(
    @CalledBy() caller: Caller,
    @Param('serviceAccountId', IdPipe) serviceAccountId: ServiceAccountId,
  ): Promise<ServiceAccount> {
    return this.banking.getServiceAccount(caller, { serviceAccountId });
  }

  @Patch(':serviceAccountId')
  @Operation('changeServiceAccount', {
    summary: 'Change a service account',
    description: paragraphs(
      'Changes the name, roles or scopes. Omitted fields stay unchanged. A change takes effect within a second.',
      'A service account that loses its last role loses its keys for ever.',
    ),
    provenance: 'ours',
    changesDirectory: true,
  })
  @ApiIdParam(...SERVICE_ACCOUNT_ID)
  @ApiOkResponse({ description: 'The changed service account.', type: ServiceAccountDto })
  change(
    @CalledBy() caller: Caller,
    @Param('serviceAccountId', IdPipe) serviceAccountId: ServiceAccountId,
    @Body(bodyPipe) change: ServiceAccountChangeDto,
  ): Promise<ServiceAccount> {
    return this.banking.changeServiceAccount(caller, { ...change, serviceAccountId });
  }

  @Delete(':serviceAccountId')
  @HttpCode(204)
  @Operation('deleteServiceAccount', {
    summary: 'Delete a service account',
    description: paragraphs(
      'Deletes a service account permanently and revokes its keys. Its standing orders pause at their next run.',
      'A second deletion fails with 404, so after a lost response a 404 means that the service account is deleted.',
    ),
    provenance: 'ours',
    changesDirectory: true,
  })
  @ApiIdParam(...SERVICE_ACCOUNT_ID)
  @ApiNoContentResponse({ description: 'The service account is deleted. The response has no body.' })
  delete(
    @CalledBy() caller: Caller,
    @Param('serviceAccountId', IdPipe) serviceAccountId: ServiceAccountId,
  ): Promise<void> {
    return this.banking.deleteServiceAccount(caller, { serviceAccountId });
  }
}

@Module({ controllers: [ServiceAccountKeysController, ServiceAccountsController] })
export class ServiceAccountsModule {}
