import {
  type InvitationAcceptance,
  type InvitedMember,
  type InviteMemberInput,
  type JoinedMember,
  type Member,
  type MemberChange,
  type RemovedMember,
  ROLE_NAMES,
} from '@banking/domain';
import { WorkspaceDto } from '../apps/apps.controller.js';
import { Field, OwnEdgeField, OwnIdField, OwnTextField, OwnTimeField } from '../http/field.decorator.js';
import { EmailField, LineField, RequiredChoicesField } from '../input/body-field.decorator.js';

const EMAIL = 'dana@northwind.example';
const CODE = 'inv_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwLxKlQ0YfDZo';

export class MemberDto implements Member {
  @OwnIdField('The member. It stays when an invitation is accepted, and when a removed member is invited again.', 4)
  readonly id!: Member['id'];

  @OwnTextField('The e-mail address of the user, or the address that is invited.', EMAIL)
  readonly email!: string;

  @Field('ours', {
    type: 'array',
    items: { type: 'string' },
    description:
      '`viewer`, `member`, `approver`, `admin`. None includes another. Empty for a removed member. New values may be added.',
    example: ['viewer', 'approver'],
  })
  readonly roles!: Member['roles'];

  @OwnTextField(
    '`invited` (an open invitation, or a user whose sign-up is not complete), `active`, `suspended` (by the bank) or `removed`. ' +
      'New values may be added.',
    'active',
  )
  readonly status!: Member['status'];

  @OwnIdField('The user. Missing for an invitation.', 3, false)
  readonly userID?: NonNullable<Member['userID']>;

  @OwnTimeField('Of an invitation: until when it can be accepted.')
  readonly expiresAt?: NonNullable<Member['expiresAt']>;

  @OwnTimeField('Time of creation.', true)
  readonly createdAt!: Member['createdAt'];

  @OwnTimeField('Time of the last change over the interface.', true)
  readonly updatedAt!: Member['updatedAt'];
}

export class InvitedMemberDto extends MemberDto implements InvitedMember {
  @OwnTextField(
    'The code of an invitation: `inv_`, and 256 random bits. Shown once, and not in the replay of a request.',
    CODE,
    false,
  )
  readonly code?: string;
}

const idsField = (description: string, example: number) =>
  Field('ours', {
    type: 'array',
    items: { type: 'integer', format: 'int64', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
    description,
    example: [example],
  });

export class RemovedMemberDto extends MemberDto implements RemovedMember {
  @idsField('The later and recurring orders of the member, which are paused.', 12)
  readonly pausedOrderIDs!: RemovedMember['pausedOrderIDs'];

  @idsField('The webhook endpoints of the member, which are disabled.', 1)
  readonly disabledWebhookEndpointIDs!: RemovedMember['disabledWebhookEndpointIDs'];

  @idsField('The keys of service accounts that the member has created, which are revoked.', 4)
  readonly revokedKeyIDs!: RemovedMember['revokedKeyIDs'];
}

export class JoinedMemberEdgesDto {
  @OwnEdgeField(() => WorkspaceDto, 'The workspace.')
  readonly workspace!: WorkspaceDto;
}

export class JoinedMemberDto extends MemberDto implements JoinedMember {
  @OwnEdgeField(() => JoinedMemberEdgesDto, 'Related records.')
  readonly edges!: JoinedMemberEdgesDto;
}

export class InviteMemberInputDto implements InviteMemberInput {
  @EmailField('ours', 'The e-mail address, in ASCII and in any case.', EMAIL)
  readonly email!: string;

  @RequiredChoicesField('ours', ROLE_NAMES, 'The roles in the workspace.')
  readonly roles!: InviteMemberInput['roles'];
}

export class MemberChangeDto implements Omit<MemberChange, 'memberId'> {
  @RequiredChoicesField('ours', ROLE_NAMES, 'All roles in the workspace from now on.')
  readonly roles!: MemberChange['roles'];
}

export class InvitationAcceptanceDto implements InvitationAcceptance {
  @LineField('ours', 100, 'The code of the invitation.', CODE, true)
  readonly code!: string;
}
