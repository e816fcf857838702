/** How many reasons the line of a folded response shows. */
const REASONS_SHOWN = 3;

/** Folds what a reader of a response needs second: its headers, and the responses with an error. */
export const foldedResponses = ({ React }) => {
  const { createElement, Fragment, useEffect, useState } = React;

  /** The reasons of an error. Each has an example. */
  const reasonsOf = (response) => [...(response.getIn(['content', 'application/json', 'examples'])?.keys() ?? [])];

  /** One line with the reasons, and below it the response if the line is pressed, or if the service sent this status. */
  const FoldedResponse = ({ Response, props }) => {
    const { code, response, className } = props;
    const [isOpen, setOpen] = useState(false);
    useEffect(() => {
      if (className === 'response_current') setOpen(true);
    }, [className]);
    const reasons = reasonsOf(response);
    const rest = reasons.length - REASONS_SHOWN;
    const shown = reasons.slice(0, rest === 1 ? undefined : REASONS_SHOWN);
    const line = [
      ...shown.map((reason) => createElement('code', { key: reason }, reason)),
      rest > 1 && createElement('span', { key: ' ' }, `and ${rest} more`),
    ];
    return createElement(
      Fragment,
      null,
      createElement(
        'tr',
        { className: `folded ${className}`, 'data-code': code },
        createElement('td', { className: 'response-col_status' }, code),
        createElement(
          'td',
          { className: 'response-col_description' },
          createElement('button', { type: 'button', 'aria-expanded': isOpen, onClick: () => setOpen(!isOpen) }, line),
        ),
      ),
      isOpen && createElement(Response, { ...props, className: 'unfolded' }),
    );
  };

  return {
    wrapComponents: {
      response: (Response) => (props) =>
        Number(props.code) >= 400 ? createElement(FoldedResponse, { Response, props }) : createElement(Response, props),
      headers: (Headers) => (props) => {
        const names = [...(props.headers?.keys() ?? [])];
        if (names.length === 0) return null;
        const summary = createElement('summary', null, `Headers: ${names.join(', ')}`);
        return createElement('details', { className: 'headers' }, summary, createElement(Headers, props));
      },
    },
  };
};
