import { Module } from '@nestjs/common';
import { AccountsController } from './accounts.controller.js';
import { StatementsController } from './statements.controller.js';
import { PagedReadsModule } from '../http/paged-reads.module.js';
import { TableDownloads } from './table-downloads.js';

@Module({
  imports: [PagedReadsModule],
  controllers: [AccountsController, StatementsController],
  providers: [TableDownloads],
})
export class AccountsModule {}
