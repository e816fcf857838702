import type { AuditActor, AuditEvent } from '@banking/domain';
import { EdgeField, Field, IdField, Ours, TextField, TimeField } from '../http/field.decorator.js';

class AuditActorDto implements AuditActor {
  @Ours()
  @TextField('`user`, `operator`, `network` or `system`, which is the service itself.', 'user')
  readonly type!: AuditActor['type'];

  @Field('ours', {
    type: 'integer',
    format: 'int64',
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'The user.',
    example: 1,
    required: false,
  })
  readonly userID?: NonNullable<AuditActor['userID']>;

  @Ours()
  @TextField('The issuer of the token.', 'https://login.example', false)
  readonly issuer?: string;

  @Ours()
  @TextField('The subject that the token names.', 'f1c2a7', false)
  readonly subject?: string;

  @Ours()
  @TextField(
    'Instead of `userID`, `issuer` and `subject`, if the user has no role in the workspace: a text that always means the same user here.',
    '0f1e2d3c4b5a69788796a5b4c3d2e1f0',
    false,
  )
  readonly pseudonym?: string;

  @Ours()
  @TextField('The `jti` of the token.', '7d3f0c', false)
  readonly tokenID?: string;

  @Ours()
  @TextField('The client of the token: its `client_id`, or else its `azp`.', 'treasury-app', false)
  readonly clientID?: string;

  @Ours()
  @TextField('The name that an operator gave.', 'Rosa', false)
  readonly name?: string;

  @Ours()
  @TextField('The account of the operating system of an operator.', 'rosa', false)
  readonly operatingSystemUser?: string;
}

class AuditedResourceDto {
  @Ours()
  @TextField('The type of the resource.', 'account')
  readonly type!: string;

  @Ours()
  @IdField('The id of the resource.', 3)
  readonly id!: number;
}

export class AuditEventDto implements AuditEvent {
  @Ours()
  @IdField('Number of the entry in the workspace, from 1 and without gaps.', 7)
  readonly id!: AuditEvent['id'];

  @Ours()
  @TimeField('Time of the change.', true)
  readonly createdAt!: AuditEvent['createdAt'];

  @Ours()
  @TextField(
    'The operation, as this document names it, or a name of the service for what no caller requests, such as `runOrder`.',
    'openAccount',
  )
  readonly operation!: string;

  @Ours()
  @TextField('`done` or `refused`.', 'done')
  readonly outcome!: AuditEvent['outcome'];

  @Ours()
  @TextField('The reason of a refusal: a `reason` of the table of errors.', 'role_insufficient', false)
  readonly reason?: string;

  @Field('ours', {
    type: 'integer',
    minimum: 2,
    description: 'The number of refused requests within a minute, if there are several.',
    example: 12,
    required: false,
  })
  readonly count?: number;

  @Ours()
  @EdgeField(() => AuditedResourceDto, 'The resource that was changed.', false)
  readonly resource?: AuditedResourceDto;

  @Ours()
  @EdgeField(() => AuditActorDto, 'Who acted.')
  readonly actor!: AuditActorDto;

  @Ours()
  @TextField('The `X-Request-Id` of the request.', '0b6a1f6e', false)
  readonly requestID?: string;

  @Ours()
  @TextField('The address that the request came from.', '192.0.2.7', false)
  readonly sourceAddress?: string;

  @Field('ours', {
    type: 'string',
    pattern: '^[0-9a-f]{64}$',
    description: 'SHA-256 of the hash before it and of this entry.',
    example: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  })
  readonly hash!: string;
}
