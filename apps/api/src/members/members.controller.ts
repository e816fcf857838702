import { Body, Controller, Delete, Get, HttpCode, Module, Param, Patch, Post, Query, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import {
  BankingService,
  INVITATION_DAYS,
  type JoinedMember,
  type Member,
  type MemberId,
  type RemovedMember,
  type RequestOptions,
  type Scope,
} from '@banking/domain';
import { CalledBy, type Caller } from '../access/access-check.js';
import { Operation, paragraphs } from '../access/operation.decorator.js';
import { RequestOptionsOf, sendCreated } from '../input/creation.js';
import { ApiIdParam, bodyPipe, IdPipe, queryPipe } from '../input/input.pipe.js';
import { PageQueryDto, sendPage } from '../input/page.js';
import {
  InvitationAcceptanceDto,
  InvitedMemberDto,
  InviteMemberInputDto,
  JoinedMemberDto,
  MemberChangeDto,
  MemberDto,
  RemovedMemberDto,
} from './member.dto.js';

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
      'A repeated request returns the same.',
    ),
    provenance: 'ours',
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
  })
  @ApiOkResponse({ description: 'The member, with the workspace.', type: JoinedMemberDto })
  accept(@CalledBy() caller: Scope, @Body(bodyPipe) acceptance: InvitationAcceptanceDto): Promise<JoinedMember> {
    return this.banking.acceptInvitation(caller, acceptance);
  }
}

@Module({ controllers: [MembersController, InvitationsController] })
export class MembersModule {}
