const DIRECTIVE = /^\s*(eslint-(?:disable|enable)(?:-next-line|-line)?)(?=\s|$)/;
const DESCRIPTION = /\s-{2,}\s+\S/;

/**
 * A comment that switches a rule off gives the reason, so that the next reader can judge the exception:
 * `// eslint-disable-next-line no-console -- the CLI prints its result`.
 */
export default {
  meta: {
    type: 'problem',
    docs: { description: 'Ask for a reason behind every eslint-disable comment.' },
    schema: [],
    messages: { undescribed: 'Say why: write "{{directive}} … -- the reason".' },
  },

  create(context) {
    return {
      Program() {
        for (const comment of context.sourceCode.getAllComments()) {
          const directive = DIRECTIVE.exec(comment.value)?.[1];
          if (!directive || directive === 'eslint-enable' || DESCRIPTION.test(comment.value)) continue;
          // Reported one column before the comment, else the directive would silence its own report.
          const start = { line: comment.loc.start.line, column: -1 };
          context.report({ loc: { start, end: comment.loc.end }, messageId: 'undescribed', data: { directive } });
        }
      },
    };
  },
};
