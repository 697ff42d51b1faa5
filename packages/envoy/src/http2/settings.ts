import { HEADER_LIST_BYTES, HEADER_TABLE_BYTES, MAXIMUM_SEND_WINDOW_BYTES, MAXIMUM_STREAMS } from './bounds.js';
import { overflow, SETTING_BYTES, wrongSize } from './frame.js';

/** The names of settings that are used here, and what a SETTINGS frame of the server says. */
export const Setting = { headerTable: 1, maximumStreams: 3, initialWindow: 4, headerListBytes: 6 } as const;

export const OUR_SETTINGS: Buffer = Buffer.concat([
  settingBytes(Setting.maximumStreams, MAXIMUM_STREAMS),
  settingBytes(Setting.headerListBytes, HEADER_LIST_BYTES),
]);

export interface ClientSettings {
  /** What it lets each stream send before it makes more room; undefined where the frame does not say. */
  readonly windowBytes: number | undefined;
  /** Its table of header fields is to be smaller than the usual one. */
  readonly hasSmallTable: boolean;
}

/** The last value of a frame holds: to visit all streams for each is what a client could make costly. */
export function readSettings(payload: Buffer): ClientSettings {
  if (payload.length % SETTING_BYTES !== 0) throw wrongSize();
  let windowBytes: number | undefined;
  let hasSmallTable = false;
  for (let at = 0; at < payload.length; at += SETTING_BYTES) {
    const name = payload.readUInt16BE(at);
    const value = payload.readUInt32BE(at + 2);
    // One that grew again in the same frame was small in between.
    if (name === Setting.headerTable && value < HEADER_TABLE_BYTES) hasSmallTable = true;
    if (name !== Setting.initialWindow) continue;
    if (value > MAXIMUM_SEND_WINDOW_BYTES) throw overflow();
    windowBytes = value;
  }
  return { windowBytes, hasSmallTable };
}

export function settingBytes(name: number, value: number): Buffer {
  const bytes = Buffer.alloc(SETTING_BYTES);
  bytes.writeUInt16BE(name);
  bytes.writeUInt32BE(value, 2);
  return bytes;
}
