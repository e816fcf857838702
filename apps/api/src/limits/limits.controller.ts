import { Body, Controller, Get, Module, Put } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { BankingService, type LimitList } from '@banking/domain';
import { CalledBy, type Caller } from '../access/access-check.js';
import { Operation, paragraphs } from '../access/operation.decorator.js';
import { bodyPipe } from '../input/input.pipe.js';
import { LimitListDto, LimitReplacementDto } from './limit.dto.js';

@ApiTags('Limits')
@Controller('limits')
class LimitsController {
  constructor(private readonly banking: BankingService) {}

  @Get()
  @Operation('getLimits', {
    summary: 'Retrieve the limits',
    description: paragraphs(
      'Returns the limits on the orders of the workspace, with what is used of each in the current day or month. A workspace has none at first.',
    ),
    provenance: 'ours',
  })
  @ApiOkResponse({ description: 'All limits of the workspace.', type: LimitListDto })
  get(@CalledBy() caller: Caller): Promise<LimitList> {
    return this.banking.getLimits(caller);
  }

  @Put()
  @Operation('replaceLimits', {
    summary: 'Replace the limits',
    description: paragraphs(
      'Replaces all limits of the workspace. Send the `version` of the list that you have read: 409 `version_conflict` says that it was',
      'changed since. A list that is as requested already stays, so the request can be sent again after a lost response.',
      '',
      'A limit counts what was paid in its day or month before it was set, too. An order that would exceed a limit is refused with 422',
      '`limit_exceeded`; `details` names the limit, its use and when it resets. A run of a later order fails with the same code.',
      'Money that comes back does not lower what is used.',
    ),
    provenance: 'ours',
  })
  @ApiOkResponse({ description: 'All limits of the workspace.', type: LimitListDto })
  replace(@CalledBy() caller: Caller, @Body(bodyPipe) replacement: LimitReplacementDto): Promise<LimitList> {
    return this.banking.replaceLimits(caller, replacement);
  }
}

@Module({ controllers: [LimitsController] })
export class LimitsModule {}
