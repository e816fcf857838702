import { Body, Controller, Delete, Get, HttpCode, Module, Param, Patch, Post, Query, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import {
  BankingService,
  INVITATION_DAYS,
  type InvitationAcceptance,
  type InvitedMember,
  type InviteMemberInput,
  type JoinedMember,
  type Member,
  type MemberChange,
  type MemberId,
  type RemovedMember,
  type RequestOptions,
  ROLE_NAMES,
  type Scope,
} from '@banking/domain';
import { CalledBy, type Caller } from '../access/access-check.js';
import { Operation, paragraphs } from '../access/operation.decorator.js';
import { RequestOptionsOf, sendCreated } from '../input/creation.js';
import { ApiIdParam, bodyPipe, IdPipe, queryPipe } from '../input/input.pipe.js';
import { PageQueryDto, sendPage } from '../input/page.js';
import { WorkspaceDto } from '../apps/apps.controller.js';
import { Field, OwnEdgeField, OwnIdField, OwnTextField, OwnTimeField } from '../http/field.decorator.js';
import { EmailField, LineField, RequiredChoicesField } from '../input/body-field.decorator.js';

const EMAIL = 'dana@northwind.example';
const CODE = 'inv_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwLxKlQ0YfDZo';

class MemberDto implements Member {
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

class InvitedMemberDto extends MemberDto implements InvitedMember {
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

class RemovedMemberDto extends MemberDto implements RemovedMember {
  @idsField('The later and recurring orders of the member that are paused.', 12)
  readonly pausedOrderIDs!: RemovedMember['pausedOrderIDs'];

  @idsField('The webhook endpoints of the member, which are disabled.', 1)
  readonly disabledWebhookEndpointIDs!: RemovedMember['disabledWebhookEndpointIDs'];

  @idsField('The keys of service accounts that the member has created, which are revoked.', 4)
  readonly revokedKeyIDs!: RemovedMember['revokedKeyIDs'];
}

class JoinedMemberEdgesDto {
  @OwnEdgeField(() => WorkspaceDto, 'The workspace.')
  readonly workspace!: WorkspaceDto;
}

class JoinedMemberDto extends MemberDto implements JoinedMember {
  @OwnEdgeField(() => JoinedMemberEdgesDto, 'Related records.')
  readonly edges!: JoinedMemberEdgesDto;
}

class InviteMemberInputDto implements InviteMemberInput {
  @EmailField('ours', 'The e-mail address, in ASCII and in any case.', EMAIL)
  readonly email!: string;

  @RequiredChoicesField('ours', ROLE_NAMES, 'The roles in the workspace.')
  readonly roles!: InviteMemberInput['roles'];
}

class MemberChangeDto implements Omit<MemberChange, 'memberId'> {
  @RequiredChoicesField('ours', ROLE_NAMES, 'All roles in the workspace from now on.')
  readonly roles!: MemberChange['roles'];
}

class InvitationAcceptanceDto implements InvitationAcceptance {
  @LineField('ours', 100, 'The code of the invitation.', CODE, true)
  readonly code!: string;
}

const MEMBER_ID = ['memberId', 'A member of the workspace.'] as const;

@ApiTags('Members')
@Controller('members')
class MembersController {
  constructor(private readonly banking: BankingService) {}

  @Get()
  @Operation('listMembers', {
    summary: 'List members',
    description: 'Lists the members of the workspace and its open invitations, newest first, without removed ones.',
    provenance: 'ours',
  })
  @ApiOkResponse({ description: 'A page of members.', type: [MemberDto] })
  async list(
    @CalledBy() caller: Caller,
    @Query(queryPipe) query: PageQueryDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return sendPage(reply, await this.banking.listMembers(caller, query));
  }

  @Post()
  @Operation('inviteMember', {
    summary: 'Invite a member',
    description: paragraphs(
      'Gives roles in the workspace to an e-mail address. A user of the service whose address is verified has them at once.',
      `Any other address is invited for ${INVITATION_DAYS} days. The first person who signs in with it, verified by the identity provider, becomes a member.`,
      'Where the deployment does not recognise users by their address, the person accepts the `code`.',
      '',
      'The response shows the `code` once: send it to the person. The service stores a hash of it, and the replay of a request with the same',
      '`Idempotency-Key` has no `code`. Another invitation of the address replaces the former one and its code.',
      '',
      'If a rule requires approvals, send an `Idempotency-Key`, and the same request again after they are given: it invites, and shows the `code`.',
    ),
    provenance: 'ours',
    changesDirectory: true,
  })
  @ApiCreatedResponse({ description: 'The member.', type: InvitedMemberDto })
  async invite(
    @CalledBy() caller: Caller,
    @Body(bodyPipe) input: InviteMemberInputDto,
    @RequestOptionsOf() options: RequestOptions,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return sendCreated(reply, '/members', await this.banking.inviteMember(caller, input, options));
  }

  @Get(':memberId')
  @Operation('getMember', {
    summary: 'Retrieve a member',
    description: 'Returns one member, also a removed one.',
    provenance: 'ours',
  })
  @ApiIdParam(...MEMBER_ID)
  @ApiOkResponse({ description: 'The member.', type: MemberDto })
  get(@CalledBy() caller: Caller, @Param('memberId', IdPipe) memberId: MemberId): Promise<Member> {
    return this.banking.getMember(caller, { memberId });
  }

  @Patch(':memberId')
  @Operation('changeMember', {
    summary: 'Change the roles of a member',
    description: paragraphs(
      'Replaces all roles of a member or of an open invitation. The last active administrator keeps the role `admin`.',
      'Later orders of a user who is no `member` any more are paused when they fall due.',
      'Without the role `admin`, the keys of service accounts that the member has created are revoked, and the open invitations that the member has made are withdrawn.',
    ),
    provenance: 'ours',
    changesDirectory: true,
  })
  @ApiIdParam(...MEMBER_ID)
  @ApiOkResponse({ description: 'The changed member.', type: MemberDto })
  change(
    @CalledBy() caller: Caller,
    @Param('memberId', IdPipe) memberId: MemberId,
    @Body(bodyPipe) change: MemberChangeDto,
  ): Promise<Member> {
    return this.banking.changeMember(caller, { ...change, memberId });
  }

  @Delete(':memberId')
  @Operation('removeMember', {
    summary: 'Remove a member',
    description: paragraphs(
      'Removes all roles of a member, or withdraws an invitation. The last active administrator stays.',
      'The later and recurring orders of the member are paused, and the webhook endpoints of the member are disabled. The response lists them.',
      'The open invitations that the member has made are withdrawn.',
      'A repeated request returns the same. Of over 500 orders, the rest is paused soon after the response, and none of them runs before.',
    ),
    provenance: 'ours',
    changesDirectory: true,
  })
  @ApiIdParam(...MEMBER_ID)
  @ApiOkResponse({ description: 'The removed member, and what was stopped.', type: RemovedMemberDto })
  remove(@CalledBy() caller: Caller, @Param('memberId', IdPipe) memberId: MemberId): Promise<RemovedMember> {
    return this.banking.removeMember(caller, { memberId });
  }
}

@ApiTags('Members')
@Controller('invitations')
class InvitationsController {
  constructor(private readonly banking: BankingService) {}

  @Post('acceptance')
  @HttpCode(200)
  @Operation('acceptInvitation', {
    summary: 'Accept an invitation',
    description: paragraphs(
      'Accepts an invitation by its code. A person who is no user of the service becomes one, with the address that was invited.',
      'The code is valid for one person, who may repeat the request, and for no token with another verified e-mail.',
      'Requests that were refused because the person was no user may be refused for one more second.',
    ),
    provenance: 'ours',
    changesDirectory: true,
  })
  @ApiOkResponse({ description: 'The member, with the workspace.', type: JoinedMemberDto })
  accept(@CalledBy() caller: Scope, @Body(bodyPipe) acceptance: InvitationAcceptanceDto): Promise<JoinedMember> {
    return this.banking.acceptInvitation(caller, acceptance);
  }
}

@Module({ controllers: [MembersController, InvitationsController] })
export class MembersModule {}
