import { Module } from '@nestjs/common';
import { AccountsController } from './accounts.controller.js';
import { StatementsController } from './statements.controller.js';
import { TableDownloads } from './table-downloads.js';

@Module({ controllers: [AccountsController, StatementsController], providers: [TableDownloads] })
export class AccountsModule {}
