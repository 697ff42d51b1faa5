/** What scripts can tell from how a command ended. */
export const EXIT_OK = 0;
/** It was asked for properly and could not be done, or the server replied with an error. */
export const EXIT_FAILURE = 1;
/** The mistake is in what was asked for. */
export const EXIT_USAGE = 2;
/** The server could not be reached, or went away. */
export const EXIT_UNREACHABLE = 3;
