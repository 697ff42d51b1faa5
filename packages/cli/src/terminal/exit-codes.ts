/** Exit codes, for scripts. */
export const EXIT_OK = 0;
/** The command was understood and could not be done, or the server replied with an error. */
export const EXIT_FAILURE = 1;
/** The command line or a setting is wrong. */
export const EXIT_USAGE = 2;
/** The server could not be reached, or closed the connection. */
export const EXIT_UNREACHABLE = 3;
