import type { ComponentChildren } from 'preact';

export interface Column<Row> {
  readonly name: string;
  readonly of: (row: Row, index: number) => ComponentChildren;
  /** Of the cells; `number` and `wide` hold for the title, too. */
  readonly class: string;
  /** The cell names its row. */
  readonly isHead?: boolean;
}

export function head<Row>(name: string, of: Column<Row>['of'], className = ''): Column<Row> {
  return { name, of, class: className, isHead: true };
}

export function text<Row>(name: string, of: Column<Row>['of'], className = ''): Column<Row> {
  return { name, of, class: className };
}

export function number<Row>(name: string, of: Column<Row>['of']): Column<Row> {
  return { name, of, class: 'number' };
}

export function Table<Row>(props: {
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string | number;
  /** For people who hear the page. */
  label?: string;
}) {
  return (
    <div class="scroll">
      <table {...(props.label !== undefined && { 'aria-label': props.label })}>
        {props.columns.some(({ name }) => name !== '') && (
          <thead>
            <tr>
              {props.columns.map((column) => (
                <th key={`${column.name} ${column.class}`} class={column.class.replace('mono', '')}>
                  {column.name}
                </th>
              ))}
            </tr>
          </thead>
        )}
        <tbody>
          {props.rows.map((row, index) => (
            <tr key={props.keyOf(row)}>
              {props.columns.map((column) =>
                column.isHead === true ? (
                  <th key={`${column.name} ${column.class}`} scope="row" class={column.class}>
                    {column.of(row, index)}
                  </th>
                ) : (
                  <td key={`${column.name} ${column.class}`} class={column.class}>
                    {column.of(row, index)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
