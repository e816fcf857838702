import { Body, Controller, Get, HttpCode, Module, Param, Post, Put, Query, Res } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import {
  ADMINISTRATORS_GROUPS,
  type Approval,
  type ApprovalId,
  type ApprovalRules,
  BankingService,
} from '@banking/domain';
import { CalledBy, type Caller } from '../access/access-check.js';
import { Operation, paragraphs } from '../access/operation.decorator.js';
import { ApiIdParam, bodyPipe, IdPipe, queryPipe } from '../input/input.pipe.js';
import { sendPage } from '../input/page.js';
import {
  ApprovalDecisionInputDto,
  ApprovalDto,
  ApprovalQueryDto,
  ApprovalRulesChangeDto,
  ApprovalRulesDto,
  PendingApprovalDto,
} from './approval.dto.js';

const APPROVAL_ID = [
  'approvalId',
  'An approval of the workspace. The response is the same for one of another workspace and one that does not exist.',
] as const;

@ApiTags('Approvals')
@ApiExtraModels(PendingApprovalDto)
@Controller('approval-rules')
class ApprovalRulesController {
  constructor(private readonly banking: BankingService) {}

  @Get()
  @Operation('getApprovalRules', {
    summary: 'Retrieve the approval rules',
    description: 'Returns which operations of the workspace need approvals, and of whom.',
    provenance: 'ours',
  })
  @ApiOkResponse({ description: 'The rules in force.', type: ApprovalRulesDto })
  get(@CalledBy() caller: Caller): Promise<ApprovalRules> {
    return this.banking.getApprovalRules(caller);
  }

  @Put()
  @Operation('replaceApprovalRules', {
    summary: 'Replace the approval rules',
    description: paragraphs(
      'Replaces all rules of the workspace. The rules in force may require approvals of it.',
      '',
      'A rule names a group of operations. Rules of orders may have conditions, which must all hold: an amount, an account, a new recipient.',
      'An operation needs the approvals of each rule that applies. Approvers approve orders and recipients; a rule of any other group may ' +
        'also name administrators.',
      '',
      'Rules apply to requests that are made after them. A request that waits keeps its requirements.',
    ),
    provenance: 'ours',
  })
  @ApiOkResponse({ description: 'The new rules.', type: ApprovalRulesDto })
  replace(@CalledBy() caller: Caller, @Body(bodyPipe) change: ApprovalRulesChangeDto): Promise<ApprovalRules> {
    return this.banking.replaceApprovalRules(caller, change);
  }
}

const HIDDEN =
  'Requests of ' +
  `${ADMINISTRATORS_GROUPS.map((group) => `\`${group}\``).join(', ')} are shown to administrators, to those with a role that they require, ` +
  'and to their maker only.';

@ApiTags('Approvals')
@Controller('approvals')
class ApprovalsController {
  constructor(private readonly banking: BankingService) {}

  @Get()
  @Operation('listApprovals', {
    summary: 'List approvals',
    description: paragraphs(
      'Lists the requests of the workspace that wait or waited for approvals, newest first.',
      HIDDEN,
    ),
    provenance: 'ours',
  })
  @ApiOkResponse({ description: 'A page of approvals.', type: [ApprovalDto] })
  async list(
    @CalledBy() caller: Caller,
    @Query(queryPipe) query: ApprovalQueryDto,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return sendPage(reply, await this.banking.listApprovals(caller, query));
  }

  @Get(':approvalId')
  @Operation('getApproval', {
    summary: 'Retrieve an approval',
    description: paragraphs(
      'Returns one request with its decisions, and with its outcome after it was carried out.',
      HIDDEN,
    ),
    provenance: 'ours',
  })
  @ApiIdParam(...APPROVAL_ID)
  @ApiOkResponse({ description: 'The approval.', type: ApprovalDto })
  get(@CalledBy() caller: Caller, @Param('approvalId', IdPipe) approvalId: ApprovalId): Promise<Approval> {
    return this.banking.getApproval(caller, { approvalId });
  }

  @Post(':approvalId/decision')
  @HttpCode(200)
  @Operation('decideApproval', {
    summary: 'Approve or reject a request',
    description: paragraphs(
      'Records your decision. Each approval is of another person, and none is of the maker, or of a person through whom the maker acts.',
      'You need a role that the request requires, at the time of the decision.',
      '',
      'After the last approval the request is carried out shortly, with the state of that moment: balance, limits, quote and corridor.',
      'A refusal then is its `outcome`. A rejection ends the request. A request expires after seven days.',
    ),
    provenance: 'ours',
  })
  @ApiIdParam(...APPROVAL_ID)
  @ApiOkResponse({ description: 'The approval with the decision.', type: ApprovalDto })
  decide(
    @CalledBy() caller: Caller,
    @Param('approvalId', IdPipe) approvalId: ApprovalId,
    @Body(bodyPipe) input: ApprovalDecisionInputDto,
  ): Promise<Approval> {
    return this.banking.decideApproval(caller, { ...input, approvalId });
  }

  @Post(':approvalId/withdrawal')
  @HttpCode(200)
  @Operation('withdrawApproval', {
    summary: 'Withdraw a request',
    description: paragraphs(
      'Ends a request that waits, for its maker and for administrators. An order that waits is cancelled.',
    ),
    provenance: 'ours',
  })
  @ApiIdParam(...APPROVAL_ID)
  @ApiOkResponse({ description: 'The withdrawn approval.', type: ApprovalDto })
  withdraw(@CalledBy() caller: Caller, @Param('approvalId', IdPipe) approvalId: ApprovalId): Promise<Approval> {
    return this.banking.withdrawApproval(caller, { approvalId });
  }
}

@Module({ controllers: [ApprovalRulesController, ApprovalsController] })
export class ApprovalsModule {}
