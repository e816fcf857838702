import { Controller, Get, Module, Query, Res } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, ApiTags, getSchemaPath } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { type AuditActor, type AuditEvent, type AuditQuery, BankingService } from '@banking/domain';
import { CalledBy, type Caller } from '../access/access-check.js';
import { Operation, paragraphs } from '../access/operation.decorator.js';
import { preferredType } from '../http/request-head.js';
import { CSV_TYPE, csvHead, csvRows } from '../http/csv.js';
import { Field, OwnEdgeField, OwnIdField, OwnTextField, OwnTimeField } from '../http/field.decorator.js';
import { queryPipe } from '../input/input.pipe.js';
import { PageQueryDto, sendPage } from '../input/page.js';
import { IdParameter, InstantParameter, TextParameter } from '../input/parameter.decorator.js';

class AuditActorDto implements AuditActor {
  @OwnTextField('`user`, `serviceAccount`, `operator`, `network` or `system`, which is the service itself.', 'user')
  readonly type!: AuditActor['type'];

  @OwnIdField('The user.', 1, false)
  readonly userID?: NonNullable<AuditActor['userID']>;

  @OwnIdField('The service account.', 8, false)
  readonly serviceAccountID?: NonNullable<AuditActor['serviceAccountID']>;

  @OwnIdField('The key that the service account called with.', 4, false)
  readonly keyID?: NonNullable<AuditActor['keyID']>;

  @OwnTextField('The issuer of the token.', 'https://login.example', false)
  readonly issuer?: string;

  @OwnTextField('The subject that the token names.', 'f1c2a7', false)
  readonly subject?: string;

  @OwnTextField(
    'Instead of `userID`, `issuer` and `subject`, if the user has no role in the workspace: a text that always means the same user here.',
    '0f1e2d3c4b5a69788796a5b4c3d2e1f0',
    false,
  )
  readonly pseudonym?: string;

  @OwnTextField('The `jti` of the token.', '7d3f0c', false)
  readonly tokenID?: string;

  @OwnTextField('The client of the token: its `client_id`, or else its `azp`.', 'treasury-app', false)
  readonly clientID?: string;

  @OwnTextField(
    'The database login of an operator. On an embedded database, the account of the operating system.',
    'omar',
    false,
  )
  readonly name?: string;

  @OwnTextField('The account of the operating system of an operator.', 'omar', false)
  readonly operatingSystemUser?: string;

  @OwnTextField('The database login of the operator who requested what this one approved.', 'lena', false)
  readonly requestedBy?: string;
}

class AuditedResourceDto {
  @OwnTextField('The type of the resource.', 'account')
  readonly type!: string;

  @OwnIdField('The id of the resource.', 3)
  readonly id!: number;
}

class AuditEventDto implements AuditEvent {
  @OwnIdField('Number of the entry in the workspace, from 1 and without gaps.', 11)
  readonly id!: AuditEvent['id'];

  @OwnTimeField('Time of the change.', true)
  readonly createdAt!: AuditEvent['createdAt'];

  @OwnTextField(
    'The operation, as this document names it, or a name of the service for what no caller requests, such as `runOrder`.',
    'openAccount',
  )
  readonly operation!: string;

  @OwnTextField('`done` or `refused`.', 'done')
  readonly outcome!: AuditEvent['outcome'];

  @OwnTextField('The reason of a refusal: a `reason` of the table of errors.', 'role_insufficient', false)
  readonly reason?: string;

  @Field('ours', {
    type: 'integer',
    minimum: 2,
    description: 'The number of refused requests within a minute, if there are several.',
    example: 12,
    required: false,
  })
  readonly count?: number;

  @OwnEdgeField(() => AuditedResourceDto, 'The resource that was changed.', false)
  readonly resource?: AuditedResourceDto;

  @OwnEdgeField(() => AuditActorDto, 'Who acted.')
  readonly actor!: AuditActorDto;

  @OwnTextField('The `X-Request-Id` of the request.', '0b6a1f6e', false)
  readonly requestID?: string;

  @OwnTextField('The address that the request came from.', '192.0.2.7', false)
  readonly sourceAddress?: string;

  @Field('ours', {
    type: 'string',
    pattern: '^[0-9a-f]{64}$',
    description: 'SHA-256 of the hash before it and of this entry.',
    example: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  })
  readonly hash!: string;
}

class AuditQueryDto extends PageQueryDto implements AuditQuery {
  @IdParameter('ours', 'Entries of this user.')
  readonly actor?: NonNullable<AuditQuery['actor']>;

  @TextParameter('ours', 64, 'Entries of this operation, such as `placeOrder`.')
  readonly operation?: string;

  @TextParameter('ours', 32, 'Entries of resources of this type, such as `order`. It needs `resourceId`.')
  readonly resourceType?: string;

  @IdParameter('ours', 'Entries of resources with this id.')
  readonly resourceId?: number;

  @InstantParameter('ours', 'At this instant or later.')
  readonly from?: string;

  @InstantParameter('ours', 'Before this instant.')
  readonly to?: string;
}

const COLUMNS = [
  'id',
  'createdAt',
  'operation',
  'outcome',
  'reason',
  'count',
  'resourceType',
  'resourceID',
  'actorType',
  'userID',
  'serviceAccountID',
  'keyID',
  'issuer',
  'subject',
  'pseudonym',
  'tokenID',
  'clientID',
  'name',
  'operatingSystemUser',
  'requestedBy',
  'requestID',
  'sourceAddress',
  'hash',
] as const;

/** The entries as a table, with a row of column names. Other fields of an upstream have no column. */
export const auditCsv = (events: readonly AuditEvent[]): string =>
  csvHead(COLUMNS) +
  csvRows(
    COLUMNS,
    events.map(({ resource, actor, ...event }) => {
      const { type: actorType, ...credential } = actor;
      return { ...event, resourceType: resource?.type, resourceID: resource?.id, actorType, ...credential };
    }),
  );

/** The media types of the list, the default first. */
const AUDIT_TYPES = ['application/json', 'text/csv'] as const;

const AuditEventsResponse = (): MethodDecorator =>
  ApiOkResponse({
    description: 'A page of the audit trail.',
    headers: {
      'Content-Disposition': {
        description: 'The file name of a table.',
        schema: { type: 'string', example: 'attachment; filename="audit-events.csv"' },
      },
    },
    content: {
      'application/json': { schema: { type: 'array', items: { $ref: getSchemaPath(AuditEventDto) } } },
      'text/csv': { schema: { type: 'string' } },
    },
  });

@ApiTags('Audit trail')
@Controller('audit-events')
class AuditEventsController {
  constructor(private readonly banking: BankingService) {}

  @Get()
  @Operation('listAuditEvents', {
    summary: 'List the audit trail',
    description: paragraphs(
      'Lists who changed what in the workspace, newest first: users, operators, the payment network, the service itself.',
      'An entry appears within a few seconds after its change. It is listed if it matches all filters.',
      '',
      '`hash` covers the entry and the hash before it, so a changed or missing entry breaks the chain.',
      'The operator of the service verifies the chain, and can sign its last hash.',
      'A gateway whose upstream has no audit trail responds with 404 `route_not_found`.',
      '',
      '**A table:** with `Accept: text/csv` the response is a table for a spreadsheet, in UTF-8 with a byte order mark.',
      'Every page begins with the row of column names. A text that a spreadsheet could read as a formula begins with an apostrophe.',
      'Errors are always JSON.',
    ),
    provenance: 'ours',
    mediaTypes: AUDIT_TYPES,
  })
  @ApiExtraModels(AuditEventDto)
  @AuditEventsResponse()
  async list(
    @CalledBy() caller: Caller,
    @Query(queryPipe) query: AuditQueryDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<readonly AuditEvent[] | string> {
    const items = sendPage(reply, await this.banking.listAuditEvents(caller, query));
    if (preferredType(reply.request.headers.accept, AUDIT_TYPES) !== 'text/csv') return items;
    reply.headers({ 'content-type': CSV_TYPE, 'content-disposition': 'attachment; filename="audit-events.csv"' });
    return auditCsv(items);
  }
}

@Module({ controllers: [AuditEventsController] })
export class AuditEventsModule {}
