import {
  type CreateServiceAccountInput,
  type CreateServiceAccountKeyInput,
  KEY_NETWORKS_MAX,
  KEY_OVERLAP_S,
  SERVICE_ACCOUNT_NAME_MAX,
  SERVICE_ACCOUNT_ROLES,
  SERVICE_ACCOUNT_SCOPES,
  type ServiceAccount,
  type ServiceAccountChange,
  type ServiceAccountKey,
  type ServiceAccountKeyRotation,
  type ServiceAccountKeyWithSecret,
} from '@banking/domain';
import { Field, OwnIdField, OwnTextField, OwnTimeField } from '../http/field.decorator.js';
import {
  ChoicesField,
  InstantBodyField,
  LineField,
  LinesField,
  RequiredChoicesField,
  WholeNumberField,
} from '../input/body-field.decorator.js';

const ROLES = '`viewer` reads. `member` reads, and creates orders, recipients and quotes. New values may be added.';
const SCOPES = 'What it may do of what its roles allow';

export class ServiceAccountDto implements ServiceAccount {
  @OwnIdField('The service account: also the id of the actor in events and in the audit trail.', 8)
  readonly id!: ServiceAccount['id'];

  @OwnTextField('Your name for the program.', 'Payroll')
  readonly name!: string;

  @Field('ours', { type: 'array', items: { type: 'string' }, description: ROLES, example: ['member'] })
  readonly roles!: ServiceAccount['roles'];

  @Field('ours', {
    type: 'array',
    items: { type: 'string' },
    description: `${SCOPES}. Missing for all of it.`,
    example: ['orders:create', 'orders:read'],
    required: false,
  })
  readonly scopes?: NonNullable<ServiceAccount['scopes']>;

  @OwnIdField('The administrator who created it. Missing for an operator.', 1, false)
  readonly createdBy?: NonNullable<ServiceAccount['createdBy']>;

  @OwnTimeField('Time of creation.', true)
  readonly createdAt!: ServiceAccount['createdAt'];

  @OwnTimeField('Time of the last change of its name, roles or scopes.', true)
  readonly updatedAt!: ServiceAccount['updatedAt'];
}

export class ServiceAccountKeyDto implements ServiceAccountKey {
  @OwnIdField('The key. Its text contains the id.', 4)
  readonly id!: ServiceAccountKey['id'];

  @OwnIdField('The service account that calls with it.', 8)
  readonly serviceAccountID!: ServiceAccountKey['serviceAccountID'];

  @Field('ours', {
    type: 'array',
    items: { type: 'string' },
    description: 'The networks that requests with it may come from, in CIDR notation. Empty for all.',
    example: ['203.0.113.0/24'],
  })
  readonly networks!: readonly string[];

  @OwnTimeField('Its end. Missing for a key without an end.')
  readonly expiresAt?: NonNullable<ServiceAccountKey['expiresAt']>;

  @OwnTimeField('The minute of its last request. Missing for a key that was never used.')
  readonly lastUsedAt?: NonNullable<ServiceAccountKey['lastUsedAt']>;

  @OwnIdField('The administrator who created it. Missing for an operator.', 1, false)
  readonly createdBy?: NonNullable<ServiceAccountKey['createdBy']>;

  @OwnTimeField('Time of creation.', true)
  readonly createdAt!: ServiceAccountKey['createdAt'];
}

export class ServiceAccountKeyWithSecretDto extends ServiceAccountKeyDto implements ServiceAccountKeyWithSecret {
  @OwnTextField(
    'The bearer token of the program. Shown once, and not in the replay of a request.',
    'bank_key_4_0000000000000000000000000000000000000000000EXAMPL',
    false,
  )
  readonly secret?: string;
}

export class CreateServiceAccountInputDto implements CreateServiceAccountInput {
  @LineField('ours', SERVICE_ACCOUNT_NAME_MAX, 'Your name for the program.', 'Payroll', true)
  readonly name!: string;

  @RequiredChoicesField('ours', SERVICE_ACCOUNT_ROLES, ROLES)
  readonly roles!: CreateServiceAccountInput['roles'];

  @ChoicesField('ours', SERVICE_ACCOUNT_SCOPES, `${SCOPES}. Without any, all of it.`)
  readonly scopes?: NonNullable<CreateServiceAccountInput['scopes']>;
}

export class ServiceAccountChangeDto implements Omit<ServiceAccountChange, 'serviceAccountId'> {
  @LineField('ours', SERVICE_ACCOUNT_NAME_MAX, 'The new name.', 'Payroll of Berlin')
  readonly name?: string;

  @ChoicesField('ours', SERVICE_ACCOUNT_ROLES, 'All its roles from now on. An empty list revokes its keys for ever.')
  readonly roles?: NonNullable<ServiceAccountChange['roles']>;

  @ChoicesField('ours', SERVICE_ACCOUNT_SCOPES, 'All its scopes from now on. An empty list: all that its roles allow.')
  readonly scopes?: NonNullable<ServiceAccountChange['scopes']>;
}

/** The longest address of IPv6, with a prefix. */
const NETWORK_MAX = 49;

export class CreateServiceAccountKeyInputDto implements Omit<CreateServiceAccountKeyInput, 'serviceAccountId'> {
  @LinesField(
    'ours',
    { count: KEY_NETWORKS_MAX, length: NETWORK_MAX },
    'The addresses and networks that requests may come from. Without any, all.',
    ['203.0.113.0/24'],
  )
  readonly networks?: readonly string[];

  @InstantBodyField(
    'ours',
    'The end of the key, in the future. Without it, the key has no end.',
    '2027-11-21T09:00:00Z',
  )
  readonly expiresAt?: string;
}

export class ServiceAccountKeyRotationDto implements Omit<ServiceAccountKeyRotation, 'serviceAccountId' | 'keyId'> {
  @WholeNumberField(
    'ours',
    { minimum: 0, maximum: KEY_OVERLAP_S.max },
    `How many seconds the former key stays valid. Without it, ${KEY_OVERLAP_S.default}: a day.`,
    3_600,
  )
  readonly overlapSeconds?: number;

  @InstantBodyField('ours', 'The end of the new key, in the future. Without it, it has no end.', '2027-11-21T09:00:00Z')
  readonly expiresAt?: string;
}
