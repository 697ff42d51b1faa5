import { type ProtoWriter, WireType } from '@quotadb/wire';

/** A google.protobuf.Struct, as plain data. */
export interface StructValue {
  readonly [name: string]: Value;
}
export type Value = string | number | boolean | readonly Value[] | StructValue;

export function writeStruct(writer: ProtoWriter, field: number, struct: StructValue): void {
  const start = writer.begin(field);
  for (const [name, value] of Object.entries(struct)) {
    const entry = writer.begin(1);
    writer.textField(1, name);
    writeValue(writer, 2, value);
    writer.end(entry);
  }
  writer.end(start);
}

/** A value is one of several fields: also one at its default is written. */
function writeValue(writer: ProtoWriter, field: number, value: Value): void {
  const start = writer.begin(field);
  if (typeof value === 'number') {
    writer.tag(2, WireType.fixed64);
    writer.reserve(8);
    writer.view.setFloat64(writer.length, value, true);
    writer.length += 8;
  } else if (typeof value === 'string') writer.bytesField(3, Buffer.from(value));
  else if (typeof value === 'boolean') {
    writer.tag(4, WireType.varint);
    writer.reserve(1);
    writer.uint53(value ? 1 : 0);
  } else if (Array.isArray(value)) {
    const list = writer.begin(6);
    for (const item of value as readonly Value[]) writeValue(writer, 1, item);
    writer.end(list);
  } else writeStruct(writer, 5, value as StructValue);
  writer.end(start);
}
