export { DataDirectory, type Identity, readIdentity, writeIdentity } from './data-directory.js';
export { Disk, type DiskEvents, type DiskStatus, type FsyncMode } from './disk.js';
export { DamagedFile, StorageError } from './errors.js';
export { type FileSystem, nodeFileSystem, type WritableFile } from './file-system.js';
export { FORMAT_VERSION } from './format.js';
export { type LaneFlush, LaneLog } from './lane-log.js';
export type { Flock } from './lock.js';
export type { Progress, Recovered } from './recover.js';
export { type Loss, type Repaired, repair } from './repair.js';
